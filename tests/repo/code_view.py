"""Lexical view of a C++ file without its comments: tokens, includes, declarations, functions and statements.

A regular expression and a brace matcher, enough for the rules of the repository: templates and
constructor initialisers are told apart from function bodies; macros are not expanded.
"""

import functools
import re
from typing import NamedTuple

_TOKEN = re.compile(
    r"""(?P<skip>^[ \t]*\#(?:\\\n|[^\n])* | [ \t\r\f\v]+ | //[^\n]* | /\*.*?\*/ | \n)
      | (?P<text>R"(?P<tag>[^(]*)\(.*?\)(?P=tag)" | "(?:\\.|[^"\\])*" | '(?:\\.|[^'\\])*')
      | (?P<word>[A-Za-z_]\w*)
      | (?P<number>\.?\d(?:[eEpP][+-]|[\w.'])*)
      | (?P<symbol>.)""",
    re.X | re.S | re.M | re.A)
_INCLUDE = re.compile(r'^[ \t]*#include[ \t]*(["<])([^">]*)[">]', re.M)


class Token(NamedTuple):
    kind: str  # word, number, text, symbol
    text: str  # of a string or character literal: the quote only
    line: int  # 1-based


class Include(NamedTuple):
    path: str
    quoted: bool
    line: int


class Declaration(NamedTuple):
    name: str
    line: int
    by_name: bool  # somebody calls it by its name: no override, operator, constructor or entry point
    free: bool  # stands in no class


class Function(NamedTuple):
    name: str
    line: int  # of the opening brace
    lines: int  # from the opening to the closing brace, both included
    body: list


@functools.lru_cache(maxsize=None)
def tokens_of(text):
    tokens, line = [], 1
    for match in _TOKEN.finditer(text):
        kind, found = match.lastgroup, match.group()
        if kind == "tag":
            kind = "text"
        if kind == "text":
            tokens.append(Token(kind, found.lstrip("R")[0], line))
        elif kind != "skip":
            tokens.append(Token(kind, found, line))
        line += found.count("\n")
    return tokens


@functools.lru_cache(maxsize=None)
def includes_of(text):
    return [Include(match[2], match[1] == '"', text.count("\n", 0, match.start()) + 1)
            for match in _INCLUDE.finditer(text)]


def texts(tokens):
    return [token.text for token in tokens]


def _without_template(head):
    """The head without `template <...>` and without [[attributes]]."""
    while head and head[0].text in ("template", "["):
        opening = "[" if head[0].text == "[" else "<"
        closing = {"[": "]", "<": ">"}[opening]
        depth, i = 0, 0 if opening == "[" else 1
        while i < len(head):
            depth += (head[i].text == opening) - (head[i].text == closing)
            i += 1
            if depth <= 0:
                break
        head = head[i:]
    return head


def _is_assigned(words):
    """Has an `=` outside of parentheses that is neither a comparison nor the name of an operator."""
    depth = 0
    for before, word in zip([""] + words, words):
        depth += (word == "(") - (word == ")")
        if word == "=" and depth == 0 and before not in ("operator", "=", "!", "<"):
            return True
    return False


def _kind_of(head):
    words = texts(_without_template(head))
    if not words:
        return "initializer"
    if "namespace" in words or (words[0] == "extern" and len(words) == 2):
        return "namespace"
    if "enum" in words:
        return "initializer"
    parentheses = "(" in words and "alignas" not in words
    if not parentheses and {"class", "struct", "union"} & set(words):
        return "record"
    return "function" if parentheses and (not _is_assigned(words) or words[-1] == ")") else "initializer"


def _name_of(head):
    if "operator" in texts(head):
        return "operator"
    for before, token in zip(head, head[1:]):
        if token.text == "(" and before.kind == "word":
            return before.text
    return "(unnamed)"


def _declaration_of(head, in_record):
    plain = _without_template(head)
    name, words = _name_of(plain), texts(head)
    constructor = len(plain) > 1 and plain[1].text == "("
    by_name = (not constructor and name != "main" and
               not {"override", "operator", "extern", "explicit", "~"} & set(words))
    line, free = head[0].line, not in_record
    for before, token in zip(head[1:], head[2:]):
        if token.text == name:
            line, free = token.line, free and before.text != ":"
    return Declaration(name, line, by_name, free)


class Outline:
    """Descends into namespaces and records, jumps over bodies and initialisers."""

    def __init__(self, text):
        self.declarations, self.functions = [], []  # of functions: outermost bodies only
        self.namespace_statements, self.class_statements = [], []
        self._head, self._scopes = [], []
        tokens, at, depth = tokens_of(text), 0, 0
        while at < len(tokens):
            token = tokens[at]
            depth += (token.text == "(") - (token.text == ")")
            structural = depth == 0 and token.kind == "symbol"
            if structural and token.text == "{":
                at = self._open(tokens, at)
            elif structural and token.text == "}":
                self._head = []
                self._scopes[-1:] = []
            elif structural and token.text == ";":
                self._end_statement()
            else:
                self._head.append(token)
            at += 1

    def _in_record(self):
        return self._scopes[-1:] == ["record"]

    def _open(self, tokens, begin):
        kind = _kind_of(self._head)
        if kind in ("namespace", "record"):
            self._scopes.append(kind)
            self._head = []
            return begin
        end = closing_brace(tokens, begin)
        after = tokens[end + 1].text if end + 1 < len(tokens) else ""
        if kind == "function" and after not in (",", "{"):
            self.declarations.append(_declaration_of(self._head, self._in_record()))
            self.functions.append(Function(_name_of(_without_template(self._head)), tokens[begin].line,
                                           tokens[end].line - tokens[begin].line + 1, tokens[begin:end]))
            if after != ";":  # a lambda bound to a name goes on to its semicolon
                self._head = []
        return end

    def _end_statement(self):
        if self._head:
            if _kind_of(self._head) == "function" and not _is_assigned(texts(self._head)):
                self.declarations.append(_declaration_of(self._head, self._in_record()))
            (self.class_statements if self._in_record() else self.namespace_statements).append(self._head)
        self._head = []


@functools.lru_cache(maxsize=None)
def outline_of(text):
    return Outline(text)


def closing_brace(tokens, begin):
    depth = 0
    for at in range(begin, len(tokens)):
        depth += (tokens[at].text == "{") - (tokens[at].text == "}")
        if depth == 0:
            return at
    return len(tokens) - 1
