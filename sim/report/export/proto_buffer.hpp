#pragma once

// A minimal writer of protocol buffer messages, which only appends fields.
//
//   tag = field * 8 + wire type;  wire types: 0 varint, 1 eight bytes, 2 length and bytes
//   varint: 7 bits a byte, the lowest first, high bit set on all bytes but the last
//   message inside a message: tag, length, its bytes
//
// Source: Protocol Buffers, "Encoding" (protobuf.dev). Fields come out in the order of the calls;
// negative integers take ten bytes, as the format asks for.

#include <array>
#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace orrery::report {

class ProtoBuffer {
 public:
  void varint(std::uint32_t field, std::uint64_t value) {
    raw_varint(std::uint64_t{field} << kTypeBits);
    raw_varint(value);
  }

  void integer(std::uint32_t field, std::int64_t value) {
    varint(field, static_cast<std::uint64_t>(value));
  }

  void fixed64(std::uint32_t field, std::uint64_t value) {
    raw_varint((std::uint64_t{field} << kTypeBits) | kEightBytes);
    std::array<char, sizeof(value)> bytes{};
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      bytes[i] = static_cast<char>((value >> (kBitsInByte * i)) & kByte);
    }
    bytes_.append(bytes.data(), bytes.size());
  }

  void number(std::uint32_t field, double value) {
    fixed64(field, std::bit_cast<std::uint64_t>(value));
  }

  void text(std::uint32_t field, std::string_view value) {
    raw_varint((std::uint64_t{field} << kTypeBits) | kLength);
    raw_varint(value.size());
    bytes_.append(value);
  }

  void message(std::uint32_t field, const ProtoBuffer& inside) {
    text(field, inside.bytes_);
  }

  void clear() {
    bytes_.clear();
  }

  [[nodiscard]] const std::string& bytes() const {
    return bytes_;
  }

  [[nodiscard]] std::string take() {
    return std::move(bytes_);
  }

 private:
  static constexpr unsigned kTypeBits = 3;
  static constexpr std::uint64_t kEightBytes = 1;
  static constexpr std::uint64_t kLength = 2;
  static constexpr unsigned kBitsInByte = 8;
  static constexpr std::uint64_t kByte = 0xff;

  void raw_varint(std::uint64_t value) {
    constexpr unsigned kBits = 7;
    constexpr std::uint64_t kMore = 0x80;
    std::array<char, 10> bytes{};
    std::size_t count = 0;
    while (value >= kMore) {
      bytes[count++] = static_cast<char>((value & (kMore - 1)) | kMore);
      value >>= kBits;
    }
    bytes[count++] = static_cast<char>(value);
    bytes_.append(bytes.data(), count);
  }

  std::string bytes_;
};

}  // namespace orrery::report
