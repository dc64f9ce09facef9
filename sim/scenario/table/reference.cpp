// The key table as a reference in Markdown.

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

#include "sim/scenario/load.hpp"
#include "sim/scenario/table/key_makers.hpp"
#include "sim/scenario/table/key_table.hpp"

namespace orrery::scenario {

namespace {

constexpr std::string_view kIntroduction =
    R"(# Scenario reference

A scenario is one YAML file that says what is trained, on which machines, how it is split over them
and how those machines fail. `orrery run FILE` answers it, `orrery check FILE` judges its `expect:`.
This page and `docs/scenario.schema.json` are generated from the table of keys that the reader uses
(`orrery schema` prints the latter): a key that is not listed here does not exist.

The smallest scenario asks for one step:

```yaml
# yaml-language-server: $schema=../docs/scenario.schema.json
format: orrery/1
model: {preset: llama3-8b}
cluster: {gpu: h100-sxm-80gb, nodes: 1}
layout: {sharding: zero3}
batch: {global: 64}
recompute: selective
```

A section that has presets takes the name of one in place of its keys: `failures: llama3-2024`.

With `training:` it describes a run, and failures, checkpoints, recovery, spares and prices count.

## Rules of the format

- An unknown key, a key given twice, or a key together with one of its other names is an error that
  names the place and the nearest key. A key that is right but has no effect in this scenario is a
  warning. All problems of a file are reported at once, as `file:line:column: error: key: ...`.
- Values carry their unit: times `250ms`, `30min`, `54d` (ns us ms s min h d; a bare `m` is an
  error), sizes `80GiB`, `2TB`, rates `400Gbps` (bits), `2TB/s` (bytes), `0.0065/d` (events), money
  `$2.50/h`. A number without a unit where one is needed is an error. Whole numbers and tokens take
  `k M B T`, powers of 1,000: `15.6T`.
- Booleans are `true` and `false` only; numbers have no leading zero. `no`, `010`, merge keys, tags
  and several documents in one file are errors: YAML readers disagree about them.
- A default is what holds when the key is left out. Where the column says in words what happens
  instead, no single value would say it.

## Durations with a law

Keys of the type *a time or a law* take a fixed time, such as `5min`, or one of these mappings:

| Mapping | Law |
|---|---|
| `{mean: 30min}` | exponential |
| `{median: 30min, sigma: 1.5}` | lognormal; sigma: deviation of the logarithm, 0 to 10 |
| `{low: 5min, high: 20min}` | uniform |
)";

std::string join(const std::vector<std::string>& words, std::string_view separator) {
  return fmt::format("{}", fmt::join(words, separator));
}

// "a time" -> "time": the column needs no article.
std::string without_a(std::string name) { return name.starts_with("a ") ? name.substr(2) : name; }

bool has_law(const Key& key) {
  const auto below = children_of(key.path);
  return key.mapping && !below.empty() && below.front()->folded;
}

std::string type_column(const Key& key) {
  std::vector<std::string> types;
  for (const Form& form : key.forms) {
    const std::string name = without_a(form.name);
    types.push_back(form.list ? fmt::format("list of {}s", name) : name);
  }
  if (has_law(key)) {
    types.emplace_back("law");
  } else if (key.mapping) {
    types.emplace_back("mapping");
  }
  const std::string type = join(types, " or ");
  return key.list ? "list of: " + type : type;
}

// A bar inside a table cell would end it.
std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    result += c == '|' ? "\\|" : std::string(1, c);
  }
  return result;
}

std::string code(std::string_view text) {
  return text.empty() ? std::string() : fmt::format("`{}`", escaped(text));
}

std::string allowed_of(const Key& key, const PresetLibrary& presets) {
  std::vector<std::string> allowed;
  for (const Form& form : key.forms) {
    if (form.kind == FormKind::words) {
      std::vector<std::string> words;
      for (const std::string& word : words_of(form, presets)) {
        words.push_back(code(word));
      }
      allowed.push_back(join(words, ", "));
    } else if (!form.range.empty()) {
      allowed.push_back(form.range);
    }
  }
  return join(allowed, "; or ");
}

std::string default_column(const Key& key) {
  if (key.required) {
    return "**required**";
  }
  return key.fallback.empty() ? key.note : code(key.fallback);
}

std::string row_of(const Key& key, const PresetLibrary& presets) {
  std::vector<std::string> aliases;
  for (const std::string& alias : key.aliases) {
    aliases.push_back(code(alias));
  }
  std::string meaning = key.meaning;
  if (!aliases.empty()) {
    meaning += fmt::format(" Also {}.", join(aliases, ", "));
  }
  return fmt::format("| {} | {} | {} | {} | {} | {} |\n", code(key.path), type_column(key),
                     default_column(key), allowed_of(key, presets), escaped(meaning),
                     code(key.example));
}

std::string_view section_of(const Key& key) {
  const std::string_view path = key.path;
  return path.substr(0, path.find_first_of(".["));
}

}  // namespace

std::string reference_markdown(const PresetLibrary& presets) {
  std::string text(kIntroduction);
  std::string_view section;
  for (const Key& key : key_table()) {
    if (key.folded) {
      continue;
    }
    if (section_of(key) != section) {
      section = section_of(key);
      text += fmt::format(
          "\n## {}\n\n| Key | Type | Default | Allowed | Meaning | Example |\n|---|---|---|---|---|"
          "---|\n",
          section);
    }
    text += row_of(key, presets);
  }
  return text;
}

}  // namespace orrery::scenario
