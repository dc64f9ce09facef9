#pragma once

// Makers of rows of the key table: one function per shape of value. The kinds of yaml/ give the
// parser, the bounds, the words of the messages and the pattern of the schema.
//
//   keys.count("layout.tensor", "GPUs that share every layer.", "8", {1, 4096},
//              ORRERY_AT(scenario.layout.tensor), {.aliases = {"tp"}, .fallback = "1"});
//
// A row states its path, its meaning, an example of its value, what values it takes, a lens (the
// place in the draft from which the key is stored and read back) and, in braces, what only some
// rows state. Internal to scenario/.

#include <algorithm>
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

// [30min, 2h]
[[nodiscard]] std::string show_times(const std::vector<Seconds>& times);

// The names of the entries of a table, and of those that are chosen as a list: [attn, moe_router].
template <typename Table>
[[nodiscard]] std::vector<std::string_view> names_of(const Table& table) {
  std::vector<std::string_view> names;
  for (const auto& entry : table) {
    names.push_back(entry.name);
  }
  return names;
}

template <typename Table, typename IsChosen>
[[nodiscard]] std::string show_names(const Table& table, IsChosen is_chosen) {
  std::string names;
  for (const auto& entry : table) {
    if (is_chosen(entry)) {
      names += names.empty() ? "" : ", ";
      names += entry.name;
    }
  }
  return "[" + names + "]";
}

// The names that a form of words takes.
[[nodiscard]] std::vector<std::string> words_of(const Form& form, const PresetLibrary& presets);

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

// A member of what another place leads to.
template <typename Place, typename Owner, typename Member>
[[nodiscard]] auto member_of(Place place, Member Owner::*member) {
  return [place, member](Draft& draft) -> Member& { return place(draft).*member; };
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

// The words of an enum whose values count from 0, by value.
template <typename E, typename Names>
[[nodiscard]] std::vector<yaml::Choice<E>> choices_of(const Names& names) {
  std::vector<yaml::Choice<E>> choices;
  for (const std::string_view name : names) {
    choices.push_back({name, static_cast<E>(choices.size())});
  }
  return choices;
}

// The table while it is filled. A row that a function gives back is valid until the next is added.
class Rows {
 public:
  [[nodiscard]] std::vector<Key> take() { return std::move(keys_); }

  [[nodiscard]] const std::vector<Key>& all() const { return keys_; }

  // A row that reads and prints its value by itself.
  Key& add(std::string_view path, std::string_view meaning, std::string_view example,
           KeyNotes notes = {});

  // A scalar of kind K.
  template <typename K>
  Key& value(std::string_view path, std::string_view meaning, std::string_view example,
             const yaml::Range<typename K::Type>& range, Lens<typename K::Type> lens,
             KeyNotes notes = {}) {
    Key& key = add(path, meaning, example, std::move(notes));
    key.forms = {form_of<K>(range)};
    key.print = lens.printed(K::format);
    key.read = [range, store = std::move(lens.set)](const yaml::Value& value, const std::string& at,
                                                    Reading& reading) {
      if (const auto read = yaml::read_value<K>(value, at, reading.diagnostics, range)) {
        store(reading.draft, *read);
      }
    };
    return key;
  }

  Key& flag(std::string_view path, std::string_view meaning, std::string_view example,
            Lens<bool> lens, KeyNotes notes = {});
  Key& count(std::string_view path, std::string_view meaning, std::string_view example,
             const yaml::Range<std::int64_t>& range, Lens<std::int64_t> lens, KeyNotes notes = {});
  Key& text(std::string_view path, std::string_view meaning, std::string_view example,
            Lens<std::string> lens, KeyNotes notes = {});

  // One of several words.
  template <typename E>
  Key& choice(std::string_view path, std::string_view meaning, std::string_view example,
              std::vector<yaml::Choice<E>> choices, Lens<E> lens, KeyNotes notes = {}) {
    Key& key = add(path, meaning, example, std::move(notes));
    key.print = lens.printed([choices](const E& value) -> std::optional<std::string> {
      const auto same = std::ranges::find(choices, value, &yaml::Choice<E>::value);
      return same == choices.end() ? std::nullopt : std::optional(std::string(same->name));
    });
    std::vector<std::string_view> words;
    for (const yaml::Choice<E>& choice : choices) {
      words.push_back(choice.name);
    }
    key.forms = {words_form({words.begin(), words.end()})};
    key.read = [choices = std::move(choices), words = std::move(words),
                store = std::move(lens.set)](const yaml::Value& value, const std::string& at,
                                             Reading& reading) {
      if (const auto index = yaml::read_word(value, at, words, reading.diagnostics)) {
        store(reading.draft, choices[*index].value);
      }
    };
    return key;
  }

  // A list of words; `begin` is called for the list, `store` with the place of each of its words.
  Key& words(std::string_view path, std::string_view meaning, std::string_view example,
             std::vector<std::string_view> words, std::function<void(Draft&)> begin,
             std::function<void(Draft&, std::size_t)> store, KeyNotes notes = {});

  // One of several names known at run time.
  Key& name(std::string_view path, std::string_view meaning, std::string_view example,
            std::vector<std::string> names, Lens<std::string> lens, KeyNotes notes = {});

  // One of the presets that the scenario finds.
  Key& preset(std::string_view path, std::string_view meaning, std::string_view example,
              PresetKind kind, PresetLens lens, KeyNotes notes = {});

  // A mapping whose keys are other rows.
  Key& section(std::string_view path, std::string_view meaning, std::string_view example,
               KeyNotes notes = {}, std::function<void(Draft&)> begin = {});

  // One that is optional in the spec: there once it is stated.
  template <typename Place>
  Key& part(std::string_view path, std::string_view meaning, std::string_view example, Place place,
            KeyNotes notes = {}) {
    Key& key = section(path, meaning, example, std::move(notes), [place](Draft& draft) {
      if (!place(draft)) {
        place(draft).emplace();
      }
    });
    key.enter = [place](Draft& draft, std::size_t) { return place(draft).has_value(); };
    return key;
  }

  // A list of mappings: `place` of the items, and what a new one holds before it is read.
  template <typename Place>
  Key& list(std::string_view path, std::string_view meaning, std::string_view example, Place place,
            KeyNotes notes = {}, std::function<void(Draft&)> fill = {}) {
    Key& key = section(path, meaning, example, std::move(notes),
                       [place, fill = std::move(fill)](Draft& draft) {
                         place(draft).emplace_back();
                         if (fill) {
                           fill(draft);
                         }
                       });
    key.list = true;
    key.enter = items_at(place);
    return key;
  }

  // A duration: a time, or the mapping of a law. Adds the key and one row per parameter of a law.
  void duration(std::string_view path, std::string_view meaning, std::string_view example,
                const Lens<run::Duration>& lens, KeyNotes notes = {});

  // The six stages of a recovery below `path`, stored where `stages` points. `note` says what holds
  // without the key; empty: what holds for the job's recovery.
  void recovery(const std::string& path, std::string_view note,
                const std::function<run::RecoveryStages&(Draft&)>& stages);

 private:
  std::vector<Key> keys_;
};

}  // namespace orrery::scenario
