#pragma once

// Makers of rows of the key table. One function per shape of value; the kinds of yaml/ give the
// parser, the bounds, the words of the messages and the pattern of the schema.
//
//   value_key<kind::Count>({.path = "layout.tensor", .aliases = {"tp"}, .fallback = "1", ...},
//                          between<std::int64_t>(1, 4096),
//                          ORRERY_AT(scenario.layout.tensor));
//
// The last argument is a lens: the place in the draft, from which the key is stored and read back.
//
// Internal to scenario/.

#include <concepts>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/run/recovery/recovery_spec.hpp"
#include "sim/scenario/table/key.hpp"

namespace orrery::scenario {

// The place of a key in the draft: a value, or an optional one that is absent until it is stated.
#define ORRERY_AT(place) \
  [](Draft & draft) -> auto& { return draft.place; }

// How a value of type T is stored in the draft and read back. From a place both follow; otherwise
// they are two functions, or one for what is only stored.
template <typename T>
struct Lens {
  std::function<void(Draft&, const T&)> set;
  std::function<std::optional<T>(Draft&)> get;

  template <typename Place>

  requires std::invocable<const Place&, Draft&> Lens(
      Place place)  // NOLINT(google-explicit-constructor): a row of the table states a place
      : set([place](Draft& draft, const T& value) { store_in(place(draft), value); }),
        get([place](Draft& draft) { return load_from(place(draft)); }) {}

  template <typename Set>

  requires std::invocable<const Set&, Draft&, const T&> Lens(Set store)
      : set(std::move(store)) {}  // NOLINT(google-explicit-constructor): likewise

  template <typename Set, typename Get>
  Lens(Set store, Get load) : set(std::move(store)), get(std::move(load)) {}

  // A number may be kept in another type of number.
  template <typename Field>
  static void store_in(Field& field, const T& value) {
    if constexpr (std::is_arithmetic_v<Field> && std::is_arithmetic_v<T>) {
      field = static_cast<Field>(value);
    } else {
      field = value;
    }
  }

  template <typename Field>
  static std::optional<T> load_from(const Field& field) {
    if constexpr (std::is_arithmetic_v<Field> && std::is_arithmetic_v<T>) {
      return static_cast<T>(field);
    } else {
      return field;
    }
  }

  // Prints what is read back; absent where nothing can be.
  template <typename Show>
  [[nodiscard]] PrintValue printed(Show show) const {
    if (!get) {
      return {};
    }
    return [read = get, show = std::move(show)](Draft& draft) -> std::optional<std::string> {
      const std::optional<T> value = read(draft);
      return value ? std::optional<std::string>(show(*value)) : std::nullopt;
    };
  }
};

[[nodiscard]] Key key_of(KeyText text);

// The pattern of the texts that K::parse accepts, anchored; empty for kinds without one.
template <typename K>
[[nodiscard]] std::string pattern_of();

template <typename K>
[[nodiscard]] Form form_of(const yaml::Range<typename K::Type>& range);

#define ORRERY_DECLARE_FORM(K)               \
  template <>                                \
  [[nodiscard]] std::string pattern_of<K>(); \
  template <>                                \
  [[nodiscard]] Form form_of<K>(const yaml::Range<K::Type>& range);

ORRERY_DECLARE_FORM(yaml::kind::Count)
ORRERY_DECLARE_FORM(yaml::kind::Number)
ORRERY_DECLARE_FORM(yaml::kind::Fraction)
ORRERY_DECLARE_FORM(yaml::kind::Boolean)
ORRERY_DECLARE_FORM(yaml::kind::Size)
ORRERY_DECLARE_FORM(yaml::kind::Time)
ORRERY_DECLARE_FORM(yaml::kind::Bandwidth)
ORRERY_DECLARE_FORM(yaml::kind::EventRate)
ORRERY_DECLARE_FORM(yaml::kind::PriceRate)
ORRERY_DECLARE_FORM(yaml::kind::Money)
ORRERY_DECLARE_FORM(yaml::kind::Power)
ORRERY_DECLARE_FORM(yaml::kind::CarbonIntensity)
ORRERY_DECLARE_FORM(yaml::kind::Date)
ORRERY_DECLARE_FORM(yaml::kind::StepsOrDuration)

#undef ORRERY_DECLARE_FORM

[[nodiscard]] Form words_form(std::vector<std::string> words);
[[nodiscard]] Form text_form();

// A scalar of kind K.
template <typename K>
[[nodiscard]] Key value_key(KeyText text, const yaml::Range<typename K::Type>& range,
                            Lens<typename K::Type> lens) {
  Key key = key_of(std::move(text));
  key.forms = {form_of<K>(range)};
  key.print = lens.printed(K::format);
  key.read = [range, store = std::move(lens.set)](const yaml::Value& value, const std::string& path,
                                                  Reading& reading) {
    if (const auto read = yaml::read_value<K>(value, path, reading.diagnostics, range)) {
      store(reading.draft, *read);
    }
  };
  return key;
}

[[nodiscard]] Key flag_key(KeyText text, Lens<bool> lens);

[[nodiscard]] Key count_key(KeyText text, const yaml::Range<std::int64_t>& range,
                            Lens<std::int64_t> lens);

// One of several words.
template <typename E>
[[nodiscard]] Key choice_key(KeyText text, std::vector<yaml::Choice<E>> choices, Lens<E> lens) {
  Key key = key_of(std::move(text));
  key.print = lens.printed([choices](const E& value) -> std::optional<std::string> {
    for (const yaml::Choice<E>& choice : choices) {
      if (choice.value == value) {
        return std::string(choice.name);
      }
    }
    return std::nullopt;
  });
  std::vector<std::string_view> words;
  for (const yaml::Choice<E>& choice : choices) {
    words.push_back(choice.name);
  }
  key.forms = {words_form({words.begin(), words.end()})};
  key.read = [choices = std::move(choices), words = std::move(words), store = std::move(lens.set)](
                 const yaml::Value& value, const std::string& path, Reading& reading) {
    if (const auto index = yaml::read_word(value, path, words, reading.diagnostics)) {
      store(reading.draft, choices[*index].value);
    }
  };
  return key;
}

// A list of words; `begin` is called for the list, `store` with the place of each of its words.
[[nodiscard]] Key words_key(KeyText text, std::vector<std::string_view> words,
                            std::function<void(Draft&)> begin,
                            std::function<void(Draft&, std::size_t)> store);

// [30min, 2h]
[[nodiscard]] std::string show_times(const std::vector<Seconds>& times);

// One of several names known at run time (presets).
[[nodiscard]] Key name_key(KeyText text, std::vector<std::string> names, Lens<std::string> lens);

// The preset of a name: what a spec takes of it, and how it is called.
struct PresetLens {
  std::function<void(Draft&, const PresetPtr&)> set;
  std::function<std::string(Draft&)> name;
};

// Of a spec that points to one part of a preset.
template <typename Part, typename Place>
[[nodiscard]] PresetLens preset_at(Part Preset::*part, Place place) {
  return {[part, place](Draft& draft, const PresetPtr& preset) {
            place(draft) = part_of(preset, part);
          },
          [place](Draft& draft) { return place(draft) ? place(draft)->name : std::string(); }};
}

// One of the presets that the scenario finds.
[[nodiscard]] Key preset_key(KeyText text, PresetKind kind, PresetLens lens);

// The names that a form of words takes.
[[nodiscard]] std::vector<std::string> words_of(const Form& form, const PresetLibrary& presets);

[[nodiscard]] Key text_key(KeyText text, Lens<std::string> lens);

// A mapping whose keys are other rows.
[[nodiscard]] Key section_key(KeyText text, std::function<void(Draft&)> begin = {});

// One that is optional in the spec: there once it is stated.
template <typename Place>

requires requires(const Place& place, Draft& draft) { place(draft).emplace(); }

[[nodiscard]] Key section_at(KeyText text, Place place) {
  Key key = section_key(std::move(text), [place](Draft& draft) {
    if (!place(draft)) {
      place(draft).emplace();
    }
  });
  key.enter = [place](Draft& draft, std::size_t) { return place(draft).has_value(); };
  return key;
}

// How the items of a list are entered.
template <typename Place>
[[nodiscard]] std::function<bool(Draft&, std::size_t)> items_at(Place place) {
  return [place](Draft& draft, std::size_t item) {
    auto& items = place(draft);
    const bool there = item < items.size();
    items.resize(there ? item + 1 : items.size());
    return there;
  };
}

// A list of such mappings: `place` of the items, and what a new one holds before it is read.
template <typename Place>
[[nodiscard]] Key list_key(KeyText text, Place place, std::function<void(Draft&)> fill = {}) {
  Key key = section_key(std::move(text), [place, fill = std::move(fill)](Draft& draft) {
    place(draft).emplace_back();
    if (fill) {
      fill(draft);
    }
  });
  key.list = true;
  key.enter = items_at(place);
  return key;
}

// A duration: a time, or the mapping of a law. Adds the key and one row per parameter of the laws.
void add_duration_keys(std::vector<Key>& keys, KeyText text, const Lens<run::Duration>& lens);

// The six stages of a recovery below `path`, stored where `stages` points. `note` says what holds
// without the key; empty: what holds for the job's recovery.
void add_recovery_keys(std::vector<Key>& keys, const std::string& path, std::string_view note,
                       const std::function<run::RecoveryStages&(Draft&)>& stages);

}  // namespace orrery::scenario
