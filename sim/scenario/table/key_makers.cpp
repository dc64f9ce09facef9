#include "sim/scenario/table/key_makers.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/check.hpp"
#include "sim/base/yaml/flow_text.hpp"
#include "sim/scenario/table/key.hpp"

namespace orrery::scenario {

namespace {

namespace kind = yaml::kind;

constexpr std::string_view kPositive = "(0|[1-9][0-9]*)(\\.[0-9]+)?([eE][+-]?[0-9]+)?";

// A number without sign followed by one of the units (alternatives of a regular expression). A bare
// zero needs no unit.
std::string with_unit(std::string_view units) {
  return fmt::format("^({} ?({})|0(\\.0+)?)$", kPositive, units);
}

template <typename K>
std::string range_text(const yaml::Range<typename K::Type>& range) {
  const std::string min = range.min ? K::format(*range.min) : "";
  const std::string max = range.max ? K::format(*range.max) : "";
  const std::string_view lower = range.min_exclusive ? "above " : "at least ";
  if (range.min && range.max) {
    return range.min_exclusive ? fmt::format("above {}, at most {}", min, max)
                               : fmt::format("{} to {}", min, max);
  }
  if (range.min) {
    return fmt::format("{}{}", lower, min);
  }
  return range.max ? "at most " + max : "";
}

}  // namespace

std::string_view Key::parent() const {
  const std::size_t dot = path.rfind('.');
  return dot == std::string::npos ? std::string_view() : std::string_view(path).substr(0, dot);
}

std::string_view Key::name() const {
  const std::size_t dot = path.rfind('.');
  return dot == std::string::npos ? std::string_view(path) : std::string_view(path).substr(dot + 1);
}

bool Key::is_named(std::string_view word) const {
  return name() == word || std::ranges::find(aliases, word) != aliases.end();
}

template <>
std::string pattern_of<kind::Count>() {
  return fmt::format("^-?{} ?[kMBT]?$", kPositive);
}

template <>
std::string pattern_of<kind::Number>() {
  return fmt::format("^-?{}$", kPositive);
}

template <>
std::string pattern_of<kind::Fraction>() {
  return fmt::format("^-?{} ?%?$", kPositive);
}

template <>
std::string pattern_of<kind::Boolean>() {
  return {};
}

template <>
std::string pattern_of<kind::Size>() {
  return with_unit("B|kB|[MGTP]B|[KMGTP]iB");
}

template <>
std::string pattern_of<kind::Time>() {
  return with_unit("ns|us|ms|s|min|h|d");
}

template <>
std::string pattern_of<kind::Bandwidth>() {
  return with_unit("[kMGT]?bps|[MGT]bit/s|[kMGTP]?B/s|[KMGT]iB/s");
}

template <>
std::string pattern_of<kind::EventRate>() {
  return with_unit("/(s|min|h|d)");
}

template <>
std::string pattern_of<kind::PriceRate>() {
  return fmt::format("^(\\${} ?[kMBT]?/(s|min|h|d)|0( ?/(s|min|h|d))?)$", kPositive);
}

template <>
std::string pattern_of<kind::Money>() {
  return fmt::format("^(\\${}( ?[kMBT])?|0)$", kPositive);
}

template <>
std::string pattern_of<kind::Power>() {
  return with_unit("[kM]?W");
}

template <>
std::string pattern_of<kind::CarbonIntensity>() {
  return with_unit("k?g/kWh");
}

template <>
std::string pattern_of<kind::Date>() {
  return "^[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9]{2}:[0-9]{2}(:[0-9]{2})?Z)?$";
}

template <>
std::string pattern_of<kind::StepsOrDuration>() {
  return fmt::format("^({0} ?[kMBT]? ?steps?|{0} ?(ns|us|ms|s|min|h|d))$", kPositive);
}

namespace {

template <typename K>
Form quantity_form(const yaml::Range<typename K::Type>& range) {
  Form form;
  form.name = K::kWhat;
  form.example = K::kExample;
  form.pattern = pattern_of<K>();
  if constexpr (!std::is_same_v<K, kind::StepsOrDuration>) {
    form.range = range_text<K>(range);
  }
  return form;
}

// Bare numbers carry their bounds into the schema.
template <typename K>
Form number_form(const yaml::Range<typename K::Type>& range, FormKind form_kind) {
  Form form = quantity_form<K>(range);
  form.kind = form_kind;
  if (range.min) {
    form.min = static_cast<double>(*range.min);
  }
  if (range.max) {
    form.max = static_cast<double>(*range.max);
  }
  form.min_exclusive = range.min_exclusive;
  return form;
}

}  // namespace

#define ORRERY_QUANTITY_FORM(K)                                \
  template <>                                                  \
  Form form_of<kind::K>(const yaml::Range<kind::K::Type>& r) { \
    return quantity_form<kind::K>(r);                          \
  }

ORRERY_QUANTITY_FORM(Size)
ORRERY_QUANTITY_FORM(Time)
ORRERY_QUANTITY_FORM(Bandwidth)
ORRERY_QUANTITY_FORM(EventRate)
ORRERY_QUANTITY_FORM(PriceRate)
ORRERY_QUANTITY_FORM(Money)
ORRERY_QUANTITY_FORM(Power)
ORRERY_QUANTITY_FORM(CarbonIntensity)
ORRERY_QUANTITY_FORM(Date)
ORRERY_QUANTITY_FORM(StepsOrDuration)

#undef ORRERY_QUANTITY_FORM

template <>
Form form_of<kind::Count>(const yaml::Range<std::int64_t>& range) {
  return number_form<kind::Count>(range, FormKind::integer);
}

template <>
Form form_of<kind::Number>(const yaml::Range<double>& range) {
  return number_form<kind::Number>(range, FormKind::number);
}

template <>
Form form_of<kind::Fraction>(const yaml::Range<double>& range) {
  return number_form<kind::Fraction>(range, FormKind::number);
}

template <>
Form form_of<kind::Boolean>(const yaml::Range<bool>&) {
  Form form;
  form.kind = FormKind::boolean;
  form.name = kind::Boolean::kWhat;
  form.example = kind::Boolean::kExample;
  return form;
}

Form words_form(std::vector<std::string> words) {
  Form form;
  form.kind = FormKind::words;
  form.name = "a name";
  form.example = words.front();
  form.words = std::move(words);
  return form;
}

Form text_form() {
  Form form;
  form.name = "a text";
  return form;
}

Key& Rows::add(std::string_view path, std::string_view meaning, std::string_view example,
               KeyNotes notes) {
  ORRERY_CHECK(!meaning.empty(), "the key {} has no meaning", path);
  Key& key = keys_.emplace_back();
  key.path = path;
  key.aliases = std::move(notes.aliases);
  key.required = notes.required;
  key.fallback = std::move(notes.fallback);
  key.note = std::move(notes.note);
  key.meaning = meaning;
  key.example = example;
  key.idle = std::move(notes.idle);
  return key;
}

Key& Rows::flag(std::string_view path, std::string_view meaning, std::string_view example,
                Lens<bool> lens, KeyNotes notes) {
  return value<kind::Boolean>(path, meaning, example, {}, std::move(lens), std::move(notes));
}

Key& Rows::count(std::string_view path, std::string_view meaning, std::string_view example,
                 const yaml::Range<std::int64_t>& range, Lens<std::int64_t> lens, KeyNotes notes) {
  return value<kind::Count>(path, meaning, example, range, std::move(lens), std::move(notes));
}

namespace {

// An empty text stands for none. In quotes where the text alone would be read as something else.
PrintValue printed_text(const Lens<std::string>& lens) {
  if (!lens.get) {
    return {};
  }
  return [load = lens.get](Draft& draft) -> std::optional<std::string> {
    const std::optional<std::string> text = load(draft);
    return text && !text->empty() ? std::optional(yaml::flow_scalar(*text)) : std::nullopt;
  };
}

}  // namespace

std::string show_times(const std::vector<Seconds>& times) {
  std::vector<std::string> words;
  for (const Seconds time : times) {
    words.push_back(kind::Time::format(time));
  }
  return fmt::format("[{}]", fmt::join(words, ", "));
}

Key& Rows::words(std::string_view path, std::string_view meaning, std::string_view example,
                 std::vector<std::string_view> words, std::function<void(Draft&)> begin,
                 std::function<void(Draft&, std::size_t)> store, KeyNotes notes) {
  Key& key = add(path, meaning, example, std::move(notes));
  key.forms = {words_form({words.begin(), words.end()})};
  key.forms.front().list = true;
  key.read = [words = std::move(words), example = key.example, begin = std::move(begin),
              store = std::move(store)](const yaml::Value& value, const std::string& path,
                                        Reading& reading) {
    if (value.kind != yaml::Value::Kind::sequence) {
      yaml::report(
          reading.diagnostics, value.where, path,
          std::string("is ") + std::string(yaml::describe(value.kind)) + " where a list is needed",
          "a list such as " + std::string(example));
      return;
    }
    begin(reading.draft);
    for (std::size_t i = 0; i < value.items.size(); ++i) {
      const std::string item = path + "[" + std::to_string(i) + "]";
      if (const auto index = yaml::read_word(value.items[i], item, words, reading.diagnostics)) {
        store(reading.draft, *index);
      }
    }
  };
  return key;
}

Key& Rows::name(std::string_view path, std::string_view meaning, std::string_view example,
                std::vector<std::string> names, Lens<std::string> lens, KeyNotes notes) {
  Key& key = add(path, meaning, example, std::move(notes));
  key.forms = {words_form(names)};
  key.print = printed_text(lens);
  key.read = [names = std::move(names), store = std::move(lens.set)](
                 const yaml::Value& value, const std::string& path, Reading& reading) {
    const std::vector<std::string_view> words(names.begin(), names.end());
    if (const auto index = yaml::read_word(value, path, words, reading.diagnostics)) {
      store(reading.draft, names[*index]);
    }
  };
  return key;
}

Key& Rows::preset(std::string_view path, std::string_view meaning, std::string_view example,
                  PresetKind kind, PresetLens lens, KeyNotes notes) {
  Key& key = add(path, meaning, example, std::move(notes));
  Form form = words_form({key.example});
  form.words.clear();
  form.presets = kind;
  key.forms = {std::move(form)};
  if (lens.name) {
    key.print = printed_text(Lens<std::string>(
        [](Draft&, const std::string&) {},
        [name = std::move(lens.name)](Draft& draft) { return std::optional(name(draft)); }));
  }
  key.read = [kind, store = std::move(lens.set)](const yaml::Value& value, const std::string& path,
                                                 Reading& reading) {
    const PresetLibrary& library = presets_of(reading.draft.scenario);
    const std::string name = value.kind == yaml::Value::Kind::scalar ? value.text : std::string();
    Diagnostics found;
    if (const PresetPtr preset = library.find(kind, name, found)) {
      store(reading.draft, preset);
      return;
    }
    reading.diagnostics.add(found);
    if (!found.has_errors()) {
      const std::vector<std::string> names = library.names(kind);
      const std::vector<std::string_view> words(names.begin(), names.end());
      static_cast<void>(yaml::read_word(value, path, words, reading.diagnostics));
    }
  };
  return key;
}

std::vector<std::string> words_of(const Form& form, const PresetLibrary& presets) {
  return form.presets ? presets.names(*form.presets) : form.words;
}

Key& Rows::text(std::string_view path, std::string_view meaning, std::string_view example,
                Lens<std::string> lens, KeyNotes notes) {
  Key& key = add(path, meaning, example, std::move(notes));
  key.forms = {text_form()};
  key.print = printed_text(lens);
  key.read = [store = std::move(lens.set), example = key.example](
                 const yaml::Value& value, const std::string& path, Reading& reading) {
    const std::string* read = yaml::read_text(value, path, "a text", example, reading.diagnostics);
    if (read != nullptr && read->empty()) {
      yaml::report(reading.diagnostics, value.where, path, "is an empty text",
                   "at least one character");
    } else if (read != nullptr) {
      store(reading.draft, *read);
    }
  };
  return key;
}

Key& Rows::section(std::string_view path, std::string_view meaning, std::string_view example,
                   KeyNotes notes, std::function<void(Draft&)> begin) {
  Key& key = add(path, meaning, example, std::move(notes));
  key.mapping = true;
  if (begin) {
    key.begin = [begin = std::move(begin)](const yaml::Value&, Reading& reading) {
      begin(reading.draft);
    };
  }
  return key;
}

}  // namespace orrery::scenario
