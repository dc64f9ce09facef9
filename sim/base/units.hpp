#pragma once

// Quantities with units: the compiler checks the dimensions, so they cannot be mixed up.
//
//   Quantity<S, B, F, T, D> = value * second^S * byte^B * FLOP^F * token^T * dollar^D
//
// symbol | meaning                              | unit   | origin
// -------|--------------------------------------|--------|---------------------------
// value_ | magnitude in coherent base units     | see <> | set by a named factory only
//
// Products and quotients are derived by the compiler; a quotient of equal dimensions is a plain
// double. Values are doubles: exact for integers up to 2^53. Simulated time is not a Quantity but
// SimTime (sim_time.hpp), because sums of scheduled times must be exact.
// This is the only file of the product that may hold power-of-ten and power-of-two scale literals.

#include <compare>
#include <cstddef>
#include <cstdint>

namespace orrery {

inline constexpr double kNano = 1e-9;
inline constexpr double kMicro = 1e-6;
inline constexpr double kMilli = 1e-3;
inline constexpr double kKilo = 1e3;
inline constexpr double kMega = 1e6;
inline constexpr double kGiga = 1e9;
inline constexpr double kTera = 1e12;
inline constexpr double kPeta = 1e15;
inline constexpr double kExa = 1e18;
inline constexpr double kKibi = 1024.0;
inline constexpr double kMebi = kKibi * kKibi;
inline constexpr double kGibi = kMebi * kKibi;
inline constexpr double kTebi = kGibi * kKibi;
inline constexpr double kBitsPerByte = 8.0;
inline constexpr double kSecondsPerMinute = 60.0;
inline constexpr double kSecondsPerHour = 3600.0;
inline constexpr double kSecondsPerDay = 86400.0;
inline constexpr std::size_t kHoursPerDay = 24;
inline constexpr double kJoulesPerKilowattHour = 3.6e6;
inline constexpr std::int64_t kNanosecondsPerSecond = 1'000'000'000;

template <int S, int B, int F, int T, int D>
class Quantity;

namespace detail {

// The one door between a Quantity and its raw magnitude in base units.
struct RawAccess {
  template <int S, int B, int F, int T, int D>
  [[nodiscard]] static constexpr double get(Quantity<S, B, F, T, D> q) {
    return q.value_;
  }

  template <typename Q>
  [[nodiscard]] static constexpr Q make(double value) {
    return Q(value);
  }
};

}  // namespace detail

template <int S, int B, int F, int T, int D>
class Quantity {
 public:
  constexpr Quantity() = default;

  friend constexpr auto operator<=>(Quantity a, Quantity b) = default;

  constexpr Quantity& operator+=(Quantity other) {
    value_ += other.value_;
    return *this;
  }

  constexpr Quantity& operator-=(Quantity other) {
    value_ -= other.value_;
    return *this;
  }

  constexpr Quantity& operator*=(double factor) {
    value_ *= factor;
    return *this;
  }

  friend constexpr Quantity operator+(Quantity a, Quantity b) {
    return Quantity(a.value_ + b.value_);
  }

  friend constexpr Quantity operator-(Quantity a, Quantity b) {
    return Quantity(a.value_ - b.value_);
  }

  friend constexpr Quantity operator-(Quantity a) { return Quantity(-a.value_); }

  friend constexpr Quantity operator*(Quantity a, double factor) {
    return Quantity(a.value_ * factor);
  }

  friend constexpr Quantity operator*(double factor, Quantity a) {
    return Quantity(factor * a.value_);
  }

  friend constexpr Quantity operator/(Quantity a, double divisor) {
    return Quantity(a.value_ / divisor);
  }

 private:
  friend struct detail::RawAccess;

  explicit constexpr Quantity(double value) : value_(value) {}

  double value_ = 0.0;
};

template <int S1, int B1, int F1, int T1, int D1, int S2, int B2, int F2, int T2, int D2>
[[nodiscard]] constexpr auto operator*(Quantity<S1, B1, F1, T1, D1> a,
                                       Quantity<S2, B2, F2, T2, D2> b) {
  const double raw = detail::RawAccess::get(a) * detail::RawAccess::get(b);
  if constexpr (S1 + S2 == 0 && B1 + B2 == 0 && F1 + F2 == 0 && T1 + T2 == 0 && D1 + D2 == 0) {
    return raw;
  } else {
    return detail::RawAccess::make<Quantity<S1 + S2, B1 + B2, F1 + F2, T1 + T2, D1 + D2>>(raw);
  }
}

template <int S1, int B1, int F1, int T1, int D1, int S2, int B2, int F2, int T2, int D2>
[[nodiscard]] constexpr auto operator/(Quantity<S1, B1, F1, T1, D1> a,
                                       Quantity<S2, B2, F2, T2, D2> b) {
  const double raw = detail::RawAccess::get(a) / detail::RawAccess::get(b);
  if constexpr (S1 == S2 && B1 == B2 && F1 == F2 && T1 == T2 && D1 == D2) {
    return raw;
  } else {
    return detail::RawAccess::make<Quantity<S1 - S2, B1 - B2, F1 - F2, T1 - T2, D1 - D2>>(raw);
  }
}

template <int S, int B, int F, int T, int D>
[[nodiscard]] constexpr auto operator/(double a, Quantity<S, B, F, T, D> b) {
  return detail::RawAccess::make<Quantity<-S, -B, -F, -T, -D>>(a / detail::RawAccess::get(b));
}

using Seconds = Quantity<1, 0, 0, 0, 0>;
using Bytes = Quantity<0, 1, 0, 0, 0>;
using Flop = Quantity<0, 0, 1, 0, 0>;  // a count of operations, never a rate
using Tokens = Quantity<0, 0, 0, 1, 0>;
using Dollars = Quantity<0, 0, 0, 0, 1>;
using PerSecond = Quantity<-1, 0, 0, 0, 0>;
using BytesPerSecond = Quantity<-1, 1, 0, 0, 0>;
using FlopPerSecond = Quantity<-1, 0, 1, 0, 0>;
using TokensPerSecond = Quantity<-1, 0, 0, 1, 0>;
using DollarsPerSecond = Quantity<-1, 0, 0, 0, 1>;

#define ORRERY_UNIT(Type, factory, accessor, scale)        \
  [[nodiscard]] constexpr Type factory(double value) {     \
    return detail::RawAccess::make<Type>(value * (scale)); \
  }                                                        \
  [[nodiscard]] constexpr double accessor(Type value) {    \
    return detail::RawAccess::get(value) / (scale);        \
  }

ORRERY_UNIT(Seconds, seconds, in_seconds, 1.0)
ORRERY_UNIT(Seconds, milliseconds, in_milliseconds, kMilli)
ORRERY_UNIT(Seconds, microseconds, in_microseconds, kMicro)
ORRERY_UNIT(Seconds, nanoseconds, in_nanoseconds, kNano)
ORRERY_UNIT(Seconds, minutes, in_minutes, kSecondsPerMinute)
ORRERY_UNIT(Seconds, hours, in_hours, kSecondsPerHour)
ORRERY_UNIT(Seconds, days, in_days, kSecondsPerDay)
ORRERY_UNIT(PerSecond, per_second, in_per_second, 1.0)
ORRERY_UNIT(PerSecond, per_day, in_per_day, 1.0 / kSecondsPerDay)
ORRERY_UNIT(Bytes, bytes, in_bytes, 1.0)
ORRERY_UNIT(Bytes, kibibytes, in_kibibytes, kKibi)
ORRERY_UNIT(Bytes, mebibytes, in_mebibytes, kMebi)
ORRERY_UNIT(Bytes, gibibytes, in_gibibytes, kGibi)
ORRERY_UNIT(Bytes, gigabytes, in_gigabytes, kGiga)
ORRERY_UNIT(Bytes, terabytes, in_terabytes, kTera)
ORRERY_UNIT(Flop, flop, in_flop, 1.0)
ORRERY_UNIT(Flop, gigaflop, in_gigaflop, kGiga)
ORRERY_UNIT(Flop, teraflop, in_teraflop, kTera)
ORRERY_UNIT(Tokens, tokens, in_tokens, 1.0)
ORRERY_UNIT(Dollars, dollars, in_dollars, 1.0)
ORRERY_UNIT(BytesPerSecond, bytes_per_second, in_bytes_per_second, 1.0)
ORRERY_UNIT(BytesPerSecond, gigabytes_per_second, in_gigabytes_per_second, kGiga)
ORRERY_UNIT(BytesPerSecond, terabytes_per_second, in_terabytes_per_second, kTera)
ORRERY_UNIT(BytesPerSecond, gigabits_per_second, in_gigabits_per_second, kGiga / kBitsPerByte)
ORRERY_UNIT(FlopPerSecond, flop_per_second, in_flop_per_second, 1.0)
ORRERY_UNIT(FlopPerSecond, teraflop_per_second, in_teraflop_per_second, kTera)
ORRERY_UNIT(TokensPerSecond, tokens_per_second, in_tokens_per_second, 1.0)
ORRERY_UNIT(DollarsPerSecond, dollars_per_second, in_dollars_per_second, 1.0)
ORRERY_UNIT(DollarsPerSecond, dollars_per_hour, in_dollars_per_hour, 1.0 / kSecondsPerHour)

#undef ORRERY_UNIT

}  // namespace orrery
