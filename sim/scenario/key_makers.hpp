#pragma once

// How is a row of the key table written? One function per shape of value; the kinds of yaml/ give
// the parser, the bounds, the words of the messages and the pattern of the schema.
//
//   value_key<kind::Count>({.path = "layout.tensor", .aliases = {"tp"}, .fallback = "1", ...},
//                          between<std::int64_t>(1, 4096),
//                          [](Draft& d, std::int64_t v) { d.scenario.layout.tensor = v; });
//
// Internal to scenario/.

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/run/recovery_spec.hpp"
#include "sim/scenario/key.hpp"

namespace orrery::scenario {

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
[[nodiscard]] Key value_key(KeyText text,
                            const yaml::Range<typename K::Type>& range,
                            std::function<void(Draft&, const typename K::Type&)> store) {
  Key key = key_of(std::move(text));
  key.forms = {form_of<K>(range)};
  key.read = [range, store = std::move(store)](
                 const yaml::Value& value, const std::string& path, Reading& reading) {
    if (const auto read = yaml::read_value<K>(value, path, reading.diagnostics, range)) {
      store(reading.draft, *read);
    }
  };
  return key;
}

// One of several words.
template <typename E>
[[nodiscard]] Key choice_key(KeyText text,
                             std::vector<yaml::Choice<E>> choices,
                             std::function<void(Draft&, E)> store) {
  Key key = key_of(std::move(text));
  std::vector<std::string_view> words;
  for (const yaml::Choice<E>& choice : choices) {
    words.push_back(choice.name);
  }
  key.forms = {words_form({words.begin(), words.end()})};
  key.read = [choices = std::move(choices), words = std::move(words), store = std::move(store)](
                 const yaml::Value& value, const std::string& path, Reading& reading) {
    if (const auto index = yaml::read_word(value, path, words, reading.diagnostics)) {
      store(reading.draft, choices[*index].value);
    }
  };
  return key;
}

// A list of words; `begin` is called for the list, `store` with the place of each of its words.
[[nodiscard]] Key words_key(KeyText text,
                            std::vector<std::string_view> words,
                            std::function<void(Draft&)> begin,
                            std::function<void(Draft&, std::size_t)> store);

// One of several names known at run time (presets).
[[nodiscard]] Key name_key(KeyText text,
                           std::vector<std::string> names,
                           std::function<void(Draft&, const std::string&)> store);

[[nodiscard]] Key text_key(KeyText text, std::function<void(Draft&, const std::string&)> store);

// A mapping whose keys are other rows.
[[nodiscard]] Key section_key(KeyText text, std::function<void(Draft&)> begin = {});

// A list of such mappings; `begin` adds an item to the spec.
[[nodiscard]] Key list_key(KeyText text, std::function<void(Draft&)> begin);

// A duration: a time, or the mapping of a law. Adds the key and one row per parameter of the laws.
void add_duration_keys(std::vector<Key>& keys,
                       KeyText text,
                       const std::function<void(Draft&, const run::Duration&)>& store);

// The six stages of a recovery below `path`, stored where `stages` points. `note` says what holds
// without the key; empty: what holds for the job's recovery.
void add_recovery_keys(std::vector<Key>& keys,
                       const std::string& path,
                       std::string_view note,
                       const std::function<run::RecoveryStages&(Draft&)>& stages);

}  // namespace orrery::scenario
