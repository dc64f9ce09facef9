"""The repository's coding rules, one function each: a tree of files -> offences (path, line, what is wrong).

The reasons are in CONTRIBUTING.md and docs/decisions/. Rules never touch the disk, so a made-up tree
proves in repo_test.py that each of them can fail. The product is sim/, calibrate/, kernels/ and gui/.
"""

import collections
import os.path
import re

from arrows import (ARROWS, CIRCULAR, FOREIGN, HIDDEN_FROM_GUI, NAMESPACES, ORDER, PROGRAM_ARROWS, ROOM_ARROWS, ROOMS,
                    WORDS)
from code_view import (closing_brace, includes_of, outline_of, texts, tokens_of)

RULES = []
CODE = (".cpp", ".hpp", ".cu", ".cuh")
HEADERS = (".hpp", ".cuh")
PRODUCT = ("sim/", "calibrate/", "gui/", "kernels/")


class File(str):
    """A path from the repository's root, with what stands in the file."""

    def __new__(cls, path, text="", executable=False):
        self = super().__new__(cls, path)
        self.text, self.executable = text, executable
        return self

    @property
    def lines(self):
        return self.text.split("\n")[:-1] if self.text.endswith("\n") else self.text.split("\n")


def rule(function):
    RULES.append(function)
    return function


def code(tree, *starts, ends=CODE):
    return [file for file in tree.values() if file.endswith(ends) and file.startswith(starts or "")]


def matches(pattern, file):
    """(line, match) of every line that the pattern is found in."""
    return [(number, match) for number, line in enumerate(file.lines, 1) if (match := re.search(pattern, line))]


# Layering

def room_of(path):
    return path.split("/")[1] if path.startswith("sim/") and path.count("/") > 1 else ""


def component_of(path):
    """The layer of a file of sim/: the folder of its room that is one, or the room."""
    parts = path.split("/")
    inner = parts[2] if len(parts) > 3 and parts[2] in ROOMS.get(room_of(path), ()) else ""
    return inner or room_of(path)


def folder_of(component):
    room = next((room for room, layers in ROOMS.items() if component in layers), "")
    return f"sim/{room}/{component}" if room else f"sim/{component}"


def allowed(targets, path):
    return any(path.endswith(target[1:]) if target.startswith("*")
               else path == target or path.startswith(target + "/") for target in targets)


def listed(targets):
    return ", ".join(sorted(targets))


@rule
def includes_against_the_arrows(tree):
    for file in code(tree, "sim/", ends=(".cpp", ".hpp")):
        component = component_of(file)
        if component and component not in ARROWS:
            yield file, 1, f"sim/{component} is not in the table of arrows"
        for include in includes_of(file.text) if component in ARROWS else ():
            to = component_of(include.path)
            inner = to + include.path.removeprefix(folder_of(to))
            if to not in ("", component) and not allowed(ARROWS[component], inner):
                yield file, include.line, (f"{component} may not include {include.path} "
                                           f"({listed(ARROWS[component])})")


@rule
def includes_between_rooms(tree):
    for file in code(tree, "sim/", ends=(".cpp", ".hpp")):
        room = room_of(file)
        for include in includes_of(file.text) if room in ROOM_ARROWS else ():
            to = room_of(include.path)
            if to not in ("", room) and to not in ROOM_ARROWS[room]:
                yield file, include.line, f"room {room} may not include {include.path} ({listed(ROOM_ARROWS[room])})"


@rule
def circles_of_folders(tree):
    """Between the folders of a component includes go one way. What stands in the component itself is a
    folder of its own, a header with its source; words of a component are free to all of them."""
    arrows = collections.defaultdict(dict)  # node -> node that it includes: where
    for file in code(tree, *PRODUCT):
        component = component_of(file) and folder_of(component_of(file)) or file.split("/")[0]

        def node(path):
            folder = os.path.dirname(path)
            return os.path.splitext(path)[0] if folder == component else folder

        for include in includes_of(file.text) if component not in CIRCULAR else ():
            inner = include.path.startswith(component + "/") and not include.path.endswith(WORDS)
            if inner and node(include.path) != node(file):
                arrows[node(file)].setdefault(node(include.path), (file, include))
    for start in sorted(arrows):
        reached, queue = {}, [start]
        while queue and start not in reached:
            at = queue.pop(0)
            for to, where in arrows[at].items() if at in arrows else ():
                if to not in reached:
                    reached[to] = (at, where)
                    queue.append(to)
        if start in reached and any(os.path.dirname(path) == start for path in tree):
            before, (file, include) = reached[start]
            path = [start, before]
            while before != start:
                before = reached[before][0]
                path.append(before)
            yield file, include.line, "closes a circle: " + " -> ".join(reversed(path))


def program_folder(path):
    """The folder of `path` that has a row in the table, or the one above it that has; else its own. The
    folders of gui/ are libraries of their own: each has a row."""
    own = folder = os.path.dirname(path)
    while folder:
        if folder in PROGRAM_ARROWS and (folder != "gui" or own == "gui"):
            return folder
        folder = os.path.dirname(folder)
    return own


@rule
def includes_between_programs(tree):
    for file in code(tree, "kernels/", "calibrate/", "gui/", "mpi/", "python/"):
        folder = program_folder(file)
        if folder not in PROGRAM_ARROWS:
            yield file, 1, f"{folder} is not in the table of arrows"
            continue
        targets = PROGRAM_ARROWS[folder]
        for include in includes_of(file.text):
            path = include.path
            hidden = folder.startswith("gui") and path.startswith(HIDDEN_FROM_GUI)
            known = program_folder(path) == folder or any(path.startswith(to + "/") for to in targets)
            if include.quoted and "/" in path and (hidden or not known):
                yield file, include.line, f"{folder} may not include {path} ({listed(targets)})"


@rule
def foreign_includes(tree):
    for file in code(tree, "sim/", ends=(".cpp", ".hpp")):
        for include in includes_of(file.text):
            if include.path.startswith(FOREIGN):
                yield file, include.line, f"sim/ may not include {include.path}"
            elif include.path.startswith("yaml-cpp/") and not re.match(r"sim/base/yaml/.*\.cpp$", file):
                yield file, include.line, "only sim/base/yaml/*.cpp may include yaml-cpp"


@rule
def includes_not_from_root(tree):
    for file in code(tree, ends=(".cpp", ".hpp")):
        for include in includes_of(file.text):
            if include.quoted and include.path not in tree:
                yield file, include.line, f'"{include.path}" is no file from the repository root'
            elif not include.quoted and include.path.startswith(("sim/", "tests/")):
                yield file, include.line, f'write "{include.path}" with quotes'


def cmake_lines(file):
    return [line.split("#")[0] for line in file.lines]


def cmake_words(file):
    return re.split(r'[\s()"]+', "\n".join(cmake_lines(file)))


@rule
def links_against_the_arrows(tree):
    for file in code(tree, "sim/", ends="CMakeLists.txt"):
        component = component_of(file)
        for word in cmake_words(file) if component in ARROWS else ():
            to = word.removeprefix("orrery::")
            to = next((layer for layer, name in NAMESPACES.items() if name == to), to)
            if to != word and (ORDER.index(to) > ORDER.index(component) or not (
                    to == component or
                    any(target.startswith("*") or target.split("/")[0] == to for target in ARROWS[component]))):
                yield file, 1, f"{component} may not link {word}"


@rule
def sources_without_target(tree):
    for file in code(tree, "sim/", "tests/", ends=(".cpp", ".hpp")):
        if not component_of(file) and not (file.startswith("tests/") and file.endswith(".cpp")):
            continue
        folder = os.path.dirname(file)
        while folder and folder + "/CMakeLists.txt" not in tree:
            folder = os.path.dirname(folder)
        name = file[len(folder) + 1:]
        if folder in ("", "sim", "tests"):
            yield file, 1, "its folder has no CMakeLists.txt"
        elif file.endswith(".cpp") and name not in cmake_words(tree[folder + "/CMakeLists.txt"]):
            yield file, 1, f"{folder}/CMakeLists.txt does not list {name}"
    for component in ARROWS:
        file = tree.get(folder_of(component) + "/CMakeLists.txt")
        if file and cmake_words(file).count("orrery_component") > 1:
            yield file, 1, "one folder is one component"


@rule
def gathered_sources(tree):
    for file in code(tree, ends=("CMakeLists.txt", ".cmake")):
        if file != "tests/repo/CMakeLists.txt":  # the header check must see the headers that nobody lists
            for number, line in enumerate(cmake_lines(file), 1):
                if re.search("GLOB |GLOB_RECURSE|aux_source_directory", line):
                    yield file, number, "list the sources one by one, without GLOB"


@rule
def tests_enabled_late(tree):
    file = tree.get("CMakeLists.txt", File(""))
    for number, line in enumerate(cmake_lines(file), 1):
        if "enable_testing(" in line:
            return
        if "add_subdirectory(" in line:
            yield file, number, "tests of this folder are lost: enable_testing() comes later"


@rule
def files_that_tests_share(tree):
    for file in code(tree, ends=(".cpp", ".hpp")):
        if file.startswith("tests/") and not file.startswith("tests/bench/") and file != "tests/support.hpp":
            for number, line in enumerate(file.lines, 1):
                if re.search(r"\btemp_directory_path\(|\bTempDir\(", line):
                    yield file, number, "tests run at the same time: a TempFolder is one's own"


# Shape

@rule
def crowded_folders(tree):
    files = [file for file in code(tree) if not file.startswith("tests/")]
    for folder, number in sorted(collections.Counter(map(os.path.dirname, files)).items()):
        if number > 40:  # twenty sources with their headers
            yield folder, None, f"{number} files, at most 40"


@rule
def long_files(tree):
    for file in code(tree):
        if len(file.lines) > 600:
            yield file, len(file.lines), f"{len(file.lines)} lines, at most 600"


@rule
def long_functions(tree):
    for file in code(tree):
        most = 120 if file.startswith("tests/") else 70
        for function in outline_of(file.text).functions:
            if function.lines > most:
                yield file, function.line, f"{function.name} has {function.lines} lines, at most {most}"


# Classes that are larger, with their functions and members: the list may only become shorter, the numbers
# smaller.
LARGE_CLASSES = {"ChartView": (46, 13), "MainWindow": (65, 28), "RunSimulator": (61, 30),
                 "TimelineView": (58, 23), "View": (47, 10)}
NEITHER = ("using", "friend", "enum", "struct", "class", "constexpr", "static_assert", "typedef")


def declares(statement):
    """`function`, `member` or nothing: what one statement of a class body declares."""
    words = texts(statement)
    if words[0] in NEITHER or (words[0] == "static" and words[1] in NEITHER):
        return None
    angle = 0
    for word in words:
        angle += (word == "<") - (word == ">")
        if angle <= 0 and word in ("=", "("):
            return "function" if word == "(" else "member"
    return "member"


def class_size(body):
    size, statement, depth = collections.Counter(), [], 0
    for token in body:
        if depth == 0 and token.text == ":" and len(statement) == 1:  # public, protected, private
            statement = []
            continue
        if depth == 0:
            statement.append(token)
        depth += (token.text == "{") - (token.text == "}")
        function_body = token.text == "}" and "(" in texts(statement)
        if depth == 0 and (token.text == ";" or function_body):
            if len(statement) > 1:
                size[declares(statement)] += 1
            statement = []
    return size["function"], size["member"]


@rule
def large_classes(tree):
    for file in code(tree, *PRODUCT):
        tokens = tokens_of(file.text)
        for at, (token, name) in enumerate(zip(tokens, tokens[1:])):
            before = tokens[at - 1].text if at else ""
            if token.text != "class" or name.kind != "word" or before in ("enum", "<", ","):
                continue
            brace = next((i for i in range(at + 2, len(tokens)) if tokens[i].text in "{;"), None)
            if brace is None or tokens[brace].text == ";":
                continue
            functions, members = class_size(tokens[brace + 1:closing_brace(tokens, brace)])
            most = LARGE_CLASSES.get(name.text, (40, 30))
            if functions > most[0] or members > most[1]:
                yield file, token.line, (f"class {name.text} has {functions} functions and {members} members, "
                                         "at most 40 and 30")


@rule
def long_lines(tree):
    for file in code(tree):
        for number, line in enumerate(file.lines, 1):
            if len(line) > 100:
                yield file, number, f"{len(line)} columns, at most 100"


@rule
def headers_without_prologue(tree):
    for file in code(tree, ends=HEADERS):
        lines = [line for line in file.lines if line] + ["", ""]
        if lines[0] != "#pragma once":
            yield file, 1, "a header starts with #pragma once"
        elif not lines[1].startswith("// "):
            yield file, 2, "a comment after #pragma once says what the header is for"


@rule
def namespaces_off_folder(tree):
    for file in code(tree, "sim/", ends=HEADERS):
        layer = component_of(file)
        wanted = "namespace orrery" + ("" if layer == "base" else "::" + NAMESPACES.get(layer, layer))
        # Words of a later stage that a scenario holds keep that stage's name.
        if wanted not in file.text and not file.endswith("_spec.hpp"):
            yield file, 1, f"its folder wants {wanted}"


# Code of sim/

# Powers of 1000 and 1024 that are a unit scale wherever they stand, and those that may also be a count
# (1,000 trials, 1,024 nodes): a scale beside * or /, or when written as a real number.
ALWAYS_SCALE = {1e9, 1e12, 1e15, 1e18, 2.0**20, 2.0**30, 2.0**40}
SOMETIMES_SCALE = {1e3, 1e6, 1024.0, 3600.0, 86400.0}


def is_scale(words, at):
    digits = words[at].replace("'", "")
    if re.match(r"0[xb]", digits):
        return False  # a bit pattern
    if exponent := re.search(r"[eE]([+-]?\d+)", digits):
        return int(exponent[1]) >= 3
    value = float(re.match(r"[\d.]+", digits)[0])
    before, after = words[max(at - 2, 0):at], words[at + 1:at + 2]
    product = (before[-1:] in (["*"], ["/"]) or after in (["*"], ["/"]) or before in (["*", "="], ["/", "="]))
    return value in ALWAYS_SCALE or (value in SOMETIMES_SCALE and ("." in digits or product))


@rule
def scale_literals(tree):
    for file in code(tree, "sim/", ends=(".cpp", ".hpp")):
        tokens = tokens_of(file.text) if file != "sim/base/units.hpp" else []
        words = texts(tokens)
        for at, token in enumerate(tokens):
            if token.kind == "number" and is_scale(words, at):
                yield file, token.line, f"{token.text} is a unit scale: use sim/base/units.hpp"


RANDOM = {"default_random_engine", "drand48", "knuth_b", "minstd_rand", "minstd_rand0", "mt19937", "mt19937_64",
          "random_device", "random_shuffle", "ranlux24", "ranlux48", "seed_seq"}
CLOCKS = {"clock_gettime", "gettimeofday", "high_resolution_clock", "steady_clock", "system_clock", "timespec_get"}


@rule
def foreign_randomness(tree):
    for file in code(tree, "sim/", ends=(".cpp", ".hpp")):
        for include in includes_of(file.text):
            if include.path == "random":
                yield file, include.line, "use RandomStream, not <random>"
        tokens = tokens_of(file.text)
        words = texts(tokens)
        for at, word in enumerate(words):
            distribution = word.endswith("_distribution") and words[max(at - 3, 0):at] == ["std", ":", ":"]
            call = (word in ("rand", "srand") and words[at + 1:at + 2] == ["("] and
                    words[at - 1] not in (".", ">"))
            if distribution or call or word in RANDOM:
                yield file, tokens[at].line, f"use RandomStream, not {word}"


@rule
def clocks(tree):
    for file in code(tree, "sim/", ends=(".cpp", ".hpp")):
        # The command line shows progress in real time; results never depend on it.
        for token in tokens_of(file.text) if not file.startswith("sim/cli/") else ():
            if token.text in CLOCKS:
                yield file, token.line, f"results may not depend on {token.text}"


@rule
def names_that_decide(tree):
    for file in code(tree, "sim/", ends=(".cpp", ".hpp")):
        if not file.startswith(("sim/step/model/op.", "sim/step/simulate/operations/", "sim/answer/evaluate/explain/")):
            for token in tokens_of(file.text):
                if token.text == "part_name":
                    yield file, token.line, "what an operation is called decides nothing: use its part"


def is_constant(words):
    """`const T` and `T* const`, but not `const char*`; what stands in <> does not count."""
    constant, depth = "constexpr" in words, 0
    for word in words[:words.index("=")] if "=" in words and not constant else words:
        depth += (word == "<") - (word == ">")
        if depth == 0 and not (constant and word != "*"):
            constant = word == "const"
    return constant or "constexpr" in words


def declares_variable(words):
    other = {"__extension__", "using", "typedef", "template", "static_assert", "friend", "namespace", "class",
             "struct", "enum", "union", "["}
    if len(words) < 2 or words[0] in other or "operator" in words or "template" in words:
        return False
    return "(" not in (words[:words.index("=")] if "=" in words else words)


@rule
def mutable_globals(tree):
    for file in code(tree, "sim/", ends=(".cpp", ".hpp")):
        outline = outline_of(file.text)
        for statements, what, needs in ((outline.namespace_statements, "a namespace holds", ""),
                                        (outline.class_statements, "a class shares", "static")):
            for statement in statements:
                words = texts(statement)
                if declares_variable(words) and not is_constant(words) and (not needs or needs in words):
                    yield file, statement[0].line, what + " a mutable variable"
        for function in outline.functions:
            words = texts(function.body)
            for at, word in enumerate(words[:-1]):
                if word in ("static", "thread_local"):
                    end = next((i for i in range(at, len(words)) if words[i] in ";{("), len(words))
                    if not is_constant(words[at:end]):
                        yield file, function.body[at].line, "a function keeps mutable static state"


@rule
def using_namespace_in_headers(tree):
    for file in code(tree, ends=".hpp"):
        tokens = tokens_of(file.text)
        for token, after in zip(tokens, tokens[1:]):
            if (token.text, after.text) == ("using", "namespace"):
                yield file, token.line, "a header opens a namespace for others"


# Functions that stand although no product code names them, and why.
CALLED_OTHERWISE = {"(unnamed)": "no name that could be called", "check_failed": "called by ORRERY_CHECK",
                    "deallocate": "called by the standard library",
                    "group_rules": "tests read the whole table", "kernel_rules": "tests read the whole table",
                    "parse_baseline": "read_baseline of a text"}


@rule
def functions_without_caller(tree):
    """Functions of the product that no other product code names: dead, or an oracle that belongs to its test."""
    mentions, declared, first, members, tested = collections.Counter(), collections.Counter(), {}, set(), set()
    for file in code(tree):
        words = [token.text for token in tokens_of(file.text) if token.kind == "word"]
        if file.startswith("tests/"):
            tested.update(words)
            continue
        mentions.update(words)
        for declaration in outline_of(file.text).declarations:
            declared[declaration.name] += declaration.by_name
            if not declaration.free:  # tests may watch an object through its members
                members.add(declaration.name)
            if declaration.by_name and file.startswith(("sim/", "calibrate/", "gui/")):
                first.setdefault(declaration.name, (file, declaration.line))
    for name, (file, line) in sorted(first.items()):
        unused = mentions[name] <= declared[name] and name not in CALLED_OTHERWISE
        if unused and not (name in members and name in tested):
            yield file, line, f"{name} is named by " + ("tests only" if name in tested else "nobody")


# Text: documents, scenarios, scripts. Words are put together, so that this file does not offend its own rules.

UNFINISHED = (r"\b(TO" "DO|FIX" "ME|XX" "X|HA" r"CK)\b|\bplace" r"holder|\bstub" "bed|[Nn]ot (yet )?imple" "mented")
MACHINE_PATH = r"(^|[^A-Za-z0-9_.-])/(ho" "me|wo" "rk|ro" "ot)/"
MODELINE = "# yaml-language-server: $schema=../docs/scenario.schema.json"
NEEDED = (("README.md", "scripts/demo"), ("README.md", "scripts/test"), ("LICENSE", "Apache License"),
          ("CONTRIBUTING.md", "scripts/test"), ("CHANGELOG.md", "## 0.1.0"),
          ("sim/README.md", "scenario.yaml"), ("docs/architecture.md", ""),
          ("docs/model.md", ""), ("docs/scenario.schema.json", "$schema"))


@rule
def unfinished_words(tree):
    for file in tree.values():
        for number, match in matches(UNFINISHED, file):
            yield file, number, f"unfinished: {match[0]}"


@rule
def machine_paths(tree):
    for file in tree.values():
        for number, match in matches(MACHINE_PATH, file):
            yield file, number, f"path of one machine: {match[0]}"


def scenarios(tree):
    return [file for file in code(tree, "scenarios/", ends=".yaml") if file.count("/") == 1]


@rule
def scenarios_without_expectation(tree):
    for file in scenarios(tree):
        if not re.search(r"^expect:\n *- +[^ ]", file.text, re.M):
            yield file, 1, "has no `expect:` with at least one expectation"


@rule
def scenarios_without_modeline(tree):
    for file in scenarios(tree):
        if not file.text.startswith(MODELINE):
            yield file, 1, f"starts without `{MODELINE}`"


def prose_of(file):
    """Lines of a document; those of its code blocks are empty."""
    in_code = False
    for line in file.lines:
        fence = line.startswith("```")
        in_code = in_code != fence
        yield "" if fence or in_code else line


def anchors_of(file):
    """As GitHub names them: lower case, blanks to '-', no punctuation."""
    headings = (match[1] for line in prose_of(file) if (match := re.match(r"#+ (.*)", line)))
    return {re.sub(r"[^\w-]", "", heading.replace(" ", "-")).lower() for heading in headings}


@rule
def broken_links(tree):
    folders = {path[:at.start()] for path in tree for at in re.finditer("/", path)}
    for file in code(tree, ends=".md"):
        for number, line in enumerate(prose_of(file), 1):
            # Code in the text of a link goes, its target stays.
            for target in re.findall(r"\]\(<?([^)> ]+)>?[^)]*\)", re.sub("`[^`]*`", "", line)):
                path, _, anchor = target.partition("#")
                path = os.path.normpath(os.path.join(os.path.dirname(file), path)) if path else file
                if re.match("https?://|mailto:", target):
                    continue
                if path not in tree and path not in folders:
                    yield file, number, f"{target} leads nowhere"
                elif anchor and path.endswith(".md") and anchor not in anchors_of(tree[path]):
                    yield file, number, f"{target} names no heading of {path}"


@rule
def missing_documents(tree):
    for path, text in NEEDED:
        if path not in tree:
            yield path, None, "is missing"
        elif text not in tree[path].text:
            yield path, 1, f"does not name {text}"


@rule
def unready_scripts(tree):
    for path in (".ci/run", "scripts/demo", "scripts/setup", "scripts/test"):
        if path not in tree:
            yield path, None, "is missing"
    for file in code(tree, "scripts/", ".ci/", ends=""):
        if not file.executable:
            yield file, 1, "has no executable bit"
        if "\nset -euo pipefail\n" not in file.text:
            yield file, 1, "has no `set -euo pipefail`"
