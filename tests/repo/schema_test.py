"""What an editor checks while a scenario is written: every shipped scenario is one by the JSON Schema, and a
wrong key, word or kind of value is none. Needs jsonschema and yaml."""

import copy
import json
import pathlib
import unittest

try:
    import jsonschema
    import yaml
except ImportError:
    raise SystemExit(77)  # SKIP_RETURN_CODE

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Loader(yaml.SafeLoader):
    """As YAML 1.2 has it: a date is a text."""


Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()}


def scenarios():
    for path in sorted((ROOT / "scenarios").glob("*.yaml")):
        found = yaml.load(path.read_text(encoding="utf-8"), Loader)
        if str(found.get("format", "")).startswith("orrery/"):
            yield path.name, found


class Schema(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        schema = json.loads((ROOT / "docs/scenario.schema.json").read_text(encoding="utf-8"))
        kind = jsonschema.validators.validator_for(schema)
        kind.check_schema(schema)
        cls.validator = kind(schema)

    def errors(self, scenario):
        return [f"{'/'.join(map(str, error.path))}: {error.message}" for error in self.validator.iter_errors(scenario)]

    def test_every_shipped_scenario_is_one(self):
        shipped = dict(scenarios())
        self.assertGreater(len(shipped), 100)
        for name, scenario in shipped.items():
            self.assertEqual(self.errors(scenario), [], name)

    def test_what_is_wrong_is_none(self):
        sound = dict(scenarios())["llama3-70b-64h100.yaml"]
        for section, key, value in (("layout", "tensr", 8), ("layout", "tensor", [8]), ("layout", "sharding", "zero9"),
                                    (None, "modell", {}), ("cluster", "nodes", "many nodes")):
            wrong = copy.deepcopy(sound)
            (wrong if section is None else wrong[section])[key] = value
            self.assertNotEqual(self.errors(wrong), [], f"{section}.{key}: {value}")


if __name__ == "__main__":
    unittest.main()
