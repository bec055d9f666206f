"""YAML files read strictly, with the line of every value.

Two liberties of YAML are taken away: a repeated key is an error rather than a silent loss of the
first, and times stay text, so that the catalog alone says how a time is written.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from headgate.catalog.problems import Place, Problem

_TIMESTAMP = "tag:yaml.org,2002:timestamp"


@dataclass(frozen=True, slots=True)
class Source:
    """One parsed file."""

    path: Path
    document: Any
    root: yaml.Node | None

    def problem(self, place: Place, message: str) -> Problem:
        """A problem at a place of this file, or at the nearest place above it that exists."""
        return Problem(self.path, message, place, self._line(place))

    def _line(self, place: Place) -> int | None:
        node = self.root
        if node is None:
            return None
        for step in place:
            below = _child(node, step)
            if below is None:
                break
            node = below
        return int(node.start_mark.line) + 1


def read_source(path: Path) -> Source | Problem:
    """The parsed file, or what keeps it from being parsed. An empty file holds None."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        return Problem(path, "is not UTF-8 text: save it as UTF-8")
    except OSError as error:
        return Problem(path, f"cannot be read: {error.strerror}")
    loader = _LOADER(text)
    try:
        root = loader.get_single_node()
        document = None if root is None else loader.construct_document(root)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        context = f" ({error.context})" if error.context else ""
        line = None if mark is None else mark.line + 1
        return Problem(path, f"not valid YAML: {error.problem}{context}", (), line)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        return Problem(path, f"not valid YAML: {error}")
    finally:
        loader.dispose()
    return Source(path, document, root)


def _child(node: yaml.Node, step: str | int) -> yaml.Node | None:
    if isinstance(node, yaml.MappingNode):
        return next((value for key, value in node.value if key.value == step), None)
    if isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
        child = node.value[step]
        return child if isinstance(child, yaml.Node) else None
    return None


def _construct_mapping(self: Any, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
    seen: set[str] = set()
    for key, _ in node.value:
        if not isinstance(key, yaml.ScalarNode):
            continue
        if key.value in seen:
            raise yaml.constructor.ConstructorError(
                None, None, f"the key {key.value!r} is given twice", key.start_mark
            )
        seen.add(key.value)
    mapping: dict[Any, Any] = self._base.construct_mapping(self, node, deep)
    return mapping


def _loader() -> Any:
    base = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # libyaml, where PyYAML was built with it
    resolvers = {
        first: [(tag, pattern) for tag, pattern in pairs if tag != _TIMESTAMP]
        for first, pairs in base.yaml_implicit_resolvers.items()
    }
    return type(
        "CatalogLoader",
        (base,),
        {
            "_base": base,
            "construct_mapping": _construct_mapping,
            "yaml_implicit_resolvers": resolvers,
        },
    )


_LOADER = _loader()
