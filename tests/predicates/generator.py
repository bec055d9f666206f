"""Random tables, and predicates on them with both hint texts and what Spark makes of them.

A `Table` holds typed rows grouped in files. A `Condition` renders itself as an SQL hint and, where
Spark's client could send it, as a JSON hint; `evaluate` gives its value on a row as Spark SQL does
(three-valued logic, NaN above everything, type coercion, a session time zone): True, False, None.

Values in rows: int, float (rounded to single precision for `float`), Decimal, str, bool, date;
`timestamp` is microseconds since the epoch, `timestamp_ntz` wall-clock microseconds.
"""

import datetime as dt
import decimal
import functools
import json
import math
import re
import struct
import zoneinfo
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from headgate.model.schema import Decimal, Field, Primitive, Struct

DAY_US = 86_400_000_000
EPOCH = dt.datetime(1970, 1, 1)
WIDE = decimal.Context(prec=200)

ZONES: tuple[dt.tzinfo, ...] = (
    dt.UTC,
    dt.timezone(dt.timedelta(hours=18)),
    dt.timezone(-dt.timedelta(hours=18)),
    dt.timezone(dt.timedelta(hours=5, minutes=45)),
    zoneinfo.ZoneInfo("America/Los_Angeles"),
    zoneinfo.ZoneInfo("Pacific/Apia"),
)


def single(value: float) -> float:
    try:
        return struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)


def wall_us(moment: dt.datetime) -> int:
    return (moment - EPOCH) // dt.timedelta(microseconds=1)


def instant_us(wall: int, zone: dt.tzinfo) -> int:
    """The instant of a wall-clock time; in a gap, by the offset before it, as java.time does."""
    offset = (EPOCH + dt.timedelta(microseconds=wall)).replace(tzinfo=zone).utcoffset()
    return wall - offset // dt.timedelta(microseconds=1)


def local_us(instant: int, zone: dt.tzinfo) -> int:
    moment = (EPOCH + dt.timedelta(microseconds=instant)).replace(tzinfo=dt.UTC)
    return wall_us(moment.astimezone(zone).replace(tzinfo=None))


def days(day: dt.date) -> int:
    return (day - EPOCH.date()).days


# --- values ------------------------------------------------------------------------------------

_SMALL = [-3, -2, -1, 0, 1, 2, 3]
_DOUBLES = [
    *(-math.inf, math.inf, math.nan, -0.0, 0.0, 0.1, single(0.1), 0.3, 1.5, -1.5, 3.0),
    *(16777217.0, 2.0**53, 2.0**53 + 2, 5e-324, 1e-46, 1e300, -1e300, 3.4028234663852886e38),
]
_STRINGS = [
    *("", "a", "ab", "abc", "b", "aé", "\ud7ff", "\ue000", "\uffff", "😀", "😀a", "z" * 40),
    *("z" * 33 + "a", "it's", "back\\slash", "%", "a_x", "null", "true", "NaN", "2021-03-14"),
]
_DAYS = [
    *(dt.date(1970, 1, 1), dt.date(1969, 12, 31), dt.date(1970, 1, 2), dt.date(2021, 3, 14)),
    *(dt.date(2021, 3, 13), dt.date(2011, 12, 29), dt.date(2011, 12, 30), dt.date(2011, 12, 31)),
]
_CLOCKS_US = [
    *(0, 1, 999, 1_000, 123_456, 43_200_000_000, 8_100_000_000, 9_000_000_000, 11_700_000_000),
    *(DAY_US - 1, 64_800_000_000, 3_600_000_000),
]
_BITS = {"byte": 8, "short": 16, "integer": 32, "long": 64}
# Every family is as likely as another, however many types it has.
FAMILIES: dict[str, tuple[Primitive | Decimal, ...]] = {
    "integer": tuple(Primitive(name) for name in _BITS),
    "floating": (Primitive("float"), Primitive("double")),
    "text": (Primitive("string"),),
    "plain": (Primitive("boolean"), Primitive("date")),
    "time": (Primitive("timestamp"), Primitive("timestamp_ntz")),
    "decimal": tuple(Decimal(*size) for size in ((5, 2), (18, 0), (20, 10), (38, 18), (38, 0))),
}


@functools.cache
def pool(data_type: Primitive | Decimal) -> tuple[Any, ...]:
    """Values at the edges of the type, and some near one another."""
    if isinstance(data_type, Decimal):
        most = 10**data_type.precision - 1
        unscaled = [*_SMALL, 150, -150, most, -most, most - 1, 10 * 10**data_type.scale]
        return tuple(
            decimal.Decimal(each).scaleb(-data_type.scale, WIDE)
            for each in unscaled
            if abs(each) <= most
        )
    name = data_type.name
    if name in _BITS:
        edge = 2 ** (_BITS[name] - 1)
        values = [*_SMALL, -edge, edge - 1, edge - 2]
        values += [2**p + d for p in (24, 53) for d in (-1, 0, 1) if 2**p + 1 < edge]
        return tuple(values)
    if name == "double":
        return tuple(_DOUBLES)
    if name == "float":
        return tuple(single(each) for each in _DOUBLES)
    if name == "string":
        return tuple(_STRINGS)
    if name == "boolean":
        return (False, True)
    if name == "date":
        return (*_DAYS, dt.date(1, 1, 3), dt.date(9999, 12, 29))
    return tuple(days(day) * DAY_US + clock for day in _DAYS for clock in _CLOCKS_US)


# --- tables ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LeafColumn:
    """A primitive column: its logical and physical path, and whether it partitions the table."""

    logical: tuple[str, ...]
    physical: tuple[str, ...]
    type: Primitive | Decimal
    partition: bool


@dataclass(frozen=True)
class Table:
    """`files` hold rows, a row holds one value a column; `zone` is the client's."""

    schema: Struct
    columns: tuple[LeafColumn, ...]
    partition_columns: tuple[str, ...]
    files: list[list[tuple[Any, ...]]]
    zone: dt.tzinfo


@st.composite
def tables(draw: st.DrawFn, families: tuple[str, ...] = tuple(FAMILIES)) -> Table:
    """Tables of one to three columns, of types of the families."""
    family = st.sampled_from([FAMILIES[name] for name in families])
    kinds = draw(st.lists(family.flatmap(st.sampled_from), min_size=1, max_size=3))
    names = draw(st.permutations(["a", "B", "a b", "Ünï", "x.y", "date"]))
    mapped = draw(st.booleans())
    partitions = draw(st.integers(0, len(kinds)))
    fields, columns = [], []
    for index, kind in enumerate(kinds):
        name, physical = names[index], f"col-{index}" if mapped else names[index]
        metadata = {"delta.columnMapping.physicalName": physical} if mapped else {}
        partition = index < partitions
        if not partition and draw(st.integers(0, 3)) == 0:
            leaf = Field("Leaf", kind, True, {})
            fields.append(Field(name, Struct((leaf,)), True, metadata))
            columns.append(LeafColumn((name, "Leaf"), (physical, "Leaf"), kind, False))
        else:
            fields.append(Field(name, kind, True, metadata))
            columns.append(LeafColumn((name,), (physical,), kind, partition))
    files = []
    for _ in range(draw(st.integers(1, 3))):
        rows = draw(st.integers(1, 4))
        held = []
        for column in columns:
            # Few distinct values a file: its bounds are tight, so that much can be pruned.
            few = draw(st.lists(st.sampled_from(pool(column.type)), min_size=1, max_size=2))
            if column.type.name in ("float", "double") and draw(st.booleans()):
                few.append(math.nan)
            value = st.sampled_from([*few, *few, None])
            if column.partition:
                # An empty string is null as a partition value.
                one = draw(value)
                held.append([None if one == "" else one] * rows)
            else:
                held.append([draw(value) for _ in range(rows)])
        files.append(list(zip(*held, strict=True)))
    return Table(
        Struct(tuple(fields)),
        tuple(columns),
        tuple(column.logical[0] for column in columns if column.partition),
        files,
        draw(st.sampled_from(ZONES)),
    )


# --- literals ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Constant:
    """A literal. Kinds: int, decimal, double, float, string, boolean, date, ntz (wall-clock
    microseconds), wall (the same, in the session's zone) and zoned (wall, offset in minutes)."""

    kind: str
    value: Any
    form: int = 0  # which of several spellings

    def sql(self) -> str:
        value = self.value
        match self.kind:
            case "int":
                if self.form == 1 and -(2**63) <= value < 2**63:
                    return f"{value}L"
                return (
                    f"CAST({value} AS BIGINT)"
                    if self.form == 2 and abs(value) < 2**63
                    else f"{value}"
                )
            case "decimal":
                text = f"{value:f}"
                return text + "BD" if self.form and "." in text else text
            case "double" | "float":
                name = self.kind.upper()
                if not math.isfinite(value):
                    return f"CAST('{java(value)}' AS {name})"
                if self.kind == "float" or self.form == 1:
                    return f"CAST({value!r} AS {name})"
                return repr(value) if "e" in repr(value) else f"{value!r}D"
            case "string":
                escaped = value.replace("\\", "\\\\").replace("'", "\\'")
                return f"'{escaped}'"
            case "boolean":
                return str(value).upper()
            case "date":
                return f"CAST('{value}' AS DATE)" if self.form else f"DATE '{value}'"
            case "ntz":
                return f"TIMESTAMP_NTZ '{clock(value)}'"
            case "wall":
                return f"TIMESTAMP '{clock(value)}'"
        wall, offset = value
        return f"TIMESTAMP '{clock(wall)}{zone_text(offset)}'"


def java(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    return repr(value).replace("inf", "Infinity")


def clock(wall: int) -> str:
    return (EPOCH + dt.timedelta(microseconds=wall)).isoformat(" ")


def zone_text(offset: int) -> str:
    sign = "-" if offset < 0 else "+"
    return f"{sign}{abs(offset) // 60:02}:{abs(offset) % 60:02}"


@st.composite
def constants(draw: st.DrawFn, table: Table, index: int) -> Constant:
    """A literal that a client could compare with the column, often at or near one of its values."""
    kind = table.columns[index].type
    held = [row[index] for rows in table.files for row in rows if row[index] is not None]
    near = held and draw(st.integers(0, 4)) > 0
    base = draw(st.sampled_from(held if near else pool(kind)))
    form = draw(st.integers(0, 2))
    name = kind.name
    if isinstance(kind, Decimal) or name in _BITS or name in ("float", "double"):
        number = decimal.Decimal(base) if math.isfinite(base) else None
        choice = draw(st.sampled_from(["own", "own", "int", "decimal", "double", "float", "text"]))
        if choice == "own":
            choice = "decimal" if isinstance(kind, Decimal) else "int" if name in _BITS else name
        if number is None:
            return Constant("float" if choice == "float" else "double", base)
        if choice == "double":
            return Constant(
                "double",
                math.nextafter(
                    float(number), draw(st.sampled_from([-math.inf, float(number), math.inf]))
                ),
                form,
            )
        if choice == "float":
            return Constant("float", single(float(number)), form)
        shift = decimal.Decimal(draw(st.sampled_from(["0", "0", "1", "-1", "0.5", "-0.25"])))
        number = WIDE.add(number, shift)
        if choice == "int" or (choice == "text" and form == 0) or abs(number.adjusted()) > 20:
            whole = int(number.to_integral_value())
            if abs(whole) >= 10**38:
                return Constant("double", float(number), form)
            return (
                Constant("string", str(whole)) if choice == "text" else Constant("int", whole, form)
            )
        if choice == "text":
            return Constant("string", f"{number:f}")
        number = (
            number.quantize(decimal.Decimal("1e-6"), context=WIDE)
            if -number.as_tuple().exponent > 18
            else number
        )
        return Constant("decimal", number if form else number.normalize(WIDE), form)
    if name == "string":
        return Constant("string", base)
    if name == "boolean":
        return Constant("string", str(base).lower()) if form == 1 else Constant("boolean", base)
    if name == "date":
        choice = draw(st.sampled_from(["date", "date", "text", "wall", "zoned", "ntz"]))
        wall = days(base) * DAY_US + draw(st.sampled_from(_CLOCKS_US))
    else:
        choice = draw(st.sampled_from(["wall", "wall", "zoned", "zoned", "ntz", "date", "text"]))
        wall = base + draw(st.sampled_from([0, 0, 0, 1, -1, 3_600_000_000]))
    if choice == "date":
        return Constant("date", (EPOCH + dt.timedelta(microseconds=wall)).date(), form)
    if choice == "text":
        day = (EPOCH + dt.timedelta(microseconds=wall)).date()
        return Constant("string", str(day) if form == 0 else clock(wall))
    if choice == "zoned":
        return Constant("zoned", (wall, draw(st.sampled_from([0, 60, -480, 1080, -1080]))))
    return Constant(choice, wall)


# --- Spark's comparison ------------------------------------------------------------------------


def order(left: Any, right: Any) -> int:
    """-1, 0 or 1; NaN equals itself and is above every other number."""
    if isinstance(left, float) and math.isnan(left):
        return 0 if isinstance(right, float) and math.isnan(right) else 1
    if isinstance(right, float) and math.isnan(right):
        return -1
    if isinstance(left, str):
        left, right = left.encode(), right.encode()
    return (left > right) - (left < right)


def compare(
    column: LeafColumn, cast: str | None, value: Any, literal: Constant, zone: dt.tzinfo
) -> int | None:
    """How the value compares with the literal; None where the coerced literal is null."""
    kind, name = literal.kind, column.type.name
    if isinstance(column.type, Decimal) or name in _BITS or name in ("float", "double"):
        return _compare_numbers(name, cast, value, literal)
    if name in ("string", "boolean"):
        right = literal.value
        if name == "boolean" and kind == "string":
            right = right == "true"
        return order(value, right)
    right_us, right_is = _moment(literal, zone)
    if cast == "date" and name != "date":
        value = (local_us(value, zone) if name == "timestamp" else value) // DAY_US
        name = "date"
    elif name == "date":
        value = days(value)
    if cast in ("timestamp", "timestamp_ntz") and name == "date":
        value, name = value * DAY_US, "timestamp_ntz"
        if cast == "timestamp":
            value, name = instant_us(value, zone), "timestamp"
    elif cast == "timestamp" and name == "timestamp_ntz":
        value, name = instant_us(value, zone), "timestamp"
    if kind == "string":
        if name == "date":
            return order(value, right_us // DAY_US)
        return order(value, instant_us(right_us, zone) if name == "timestamp" else right_us)
    if kind == "date" and name == "date":
        return order(value, right_us // DAY_US)
    if name == "date":
        value, name = value * DAY_US, "timestamp_ntz"
    # The session's timestamp is the common type, unless neither side is one.
    if name == "timestamp_ntz" and right_is != "instant":
        return order(value, right_us)
    left = instant_us(value, zone) if name == "timestamp_ntz" else value
    return order(left, right_us if right_is == "instant" else instant_us(right_us, zone))


def _moment(literal: Constant, zone: dt.tzinfo) -> tuple[int, str]:
    match literal.kind:
        case "date":
            return days(literal.value) * DAY_US, "wall"
        case "ntz":
            return literal.value, "wall"
        case "wall":
            return instant_us(literal.value, zone), "instant"
        case "zoned":
            wall, offset = literal.value
            return wall - offset * 60_000_000, "instant"
    return wall_us(dt.datetime.fromisoformat(literal.value)), "wall"


def _compare_numbers(name: str, cast: str | None, value: Any, literal: Constant) -> int | None:
    kind, right = literal.kind, literal.value
    if kind == "string":
        right = decimal.Decimal(right)
        if name in _BITS and cast is None:
            return order(value, int(right))
        kind, right = "double", float(right)
    left_is = cast if cast in ("float", "double") else name
    if "double" in (left_is, kind):
        return order(float(value), float(right))
    if left_is == "float" or kind == "float":
        if kind == "decimal" or left_is.startswith("decimal"):
            return order(float(value), float(right))
        return order(single(float(value)), single(float(right)))
    return order(decimal.Decimal(value), decimal.Decimal(right))


# --- conditions --------------------------------------------------------------------------------

_CASTS = {
    "byte": ["integer", "long"],
    "short": ["long"],
    "integer": ["long", "double", "float"],
    "long": ["double", "float"],
    "float": ["double"],
    "date": ["timestamp", "timestamp_ntz"],
    "timestamp": ["date"],
    "timestamp_ntz": ["date", "timestamp"],
}
_SQL_NAMES = {
    "byte": "TINYINT",
    "short": "SMALLINT",
    "integer": "INT",
    "long": "BIGINT",
}
_JSON_NAMES = {
    "integer": "int",
    "long": "long",
    "float": "float",
    "double": "double",
    "date": "date",
    "string": "string",
    "boolean": "bool",
    "timestamp": "timestamp",
}
_JSON_OPS = {
    "=": "equal",
    "<": "lessThan",
    "<=": "lessThanOrEqual",
    ">": "greaterThan",
    ">=": "greaterThanOrEqual",
}
_MEANING = {
    "=": lambda c: c == 0,
    "<>": lambda c: c != 0,
    "<": lambda c: c < 0,
    "<=": lambda c: c <= 0,
    ">": lambda c: c > 0,
    ">=": lambda c: c >= 0,
}
_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


_SPELT = frozenset({"prefix", "in", "between"})


class NotJson(Exception):
    """Spark's client has no JSON for it."""


@dataclass(frozen=True)
class Reference:
    column: LeafColumn
    index: int
    cast: str | None = None
    spelling: int = 0

    def sql(self) -> str:
        path = self.column.logical
        if self.spelling == 1:
            path = tuple(part.upper() if part.isascii() else part for part in path)
        text = ".".join(p if re.fullmatch("[a-zA-Z]+", p) else f"`{p}`" for p in path)
        if self.column.partition and self.spelling == 2 and self.cast is None:
            own = self.column.type.name
            return f"CAST(partitionValues.{text} AS {_SQL_NAMES.get(own, own)})"
        return f"CAST({text} AS {_SQL_NAMES.get(self.cast, self.cast)})" if self.cast else text

    def json(self, value_type: str | None = None) -> dict[str, Any]:
        wanted = value_type or self.cast or self.column.type.name
        if wanted not in _JSON_NAMES or any("." in part for part in self.column.logical):
            raise NotJson
        name = ".".join(self.column.logical)
        return {"op": "column", "name": name, "valueType": _JSON_NAMES[wanted]}


@dataclass(frozen=True)
class Condition:
    op: str
    reference: Reference | None = None
    literals: tuple[Constant | None, ...] = ()
    children: tuple["Condition", ...] = ()
    value: bool | None = None
    flipped: bool = False

    def sql(self) -> str:
        column = self.reference.sql() if self.reference else ""
        texts = ["NULL" if each is None else each.sql() for each in self.literals]
        match self.op:
            case "and" | "or":
                return "(" + f" {self.op.upper()} ".join(each.sql() for each in self.children) + ")"
            case "not":
                inner = self.children[0].sql()
                for op in ("LIKE", "IN", "BETWEEN"):
                    # `a NOT IN (…)` and `NOT (a IN (…))` alike.
                    if self.flipped and self.children[0].op in _SPELT and f" {op} " in inner:
                        return inner.replace(f" {op} ", f" NOT {op} ", 1)
                return f"NOT ({inner})"
            case "constant":
                return "NULL" if self.value is None else str(self.value).upper()
            case "null":
                return f"({column} IS NULL)"
            case "bare":
                return column
            case "in":
                return f"{column} IN ({', '.join(texts)})"
            case "between":
                return f"{column} BETWEEN {texts[0]} AND {texts[1]}"
            case "prefix":
                if self.flipped:
                    return f"startswith({column}, {texts[0]})"
                return f"{column} LIKE {Constant('string', self.literals[0].value + '%').sql()}"
        if self.flipped:
            return f"{texts[0]} {_FLIPPED.get(self.op, self.op)} {column}"
        return f"{column} {self.op} {texts[0]}"

    def json(self, zone: dt.tzinfo) -> dict[str, Any]:
        """Raises NotJson."""
        match self.op:
            case "and" | "or" | "not":
                return {"op": self.op, "children": [each.json(zone) for each in self.children]}
            case "null":
                return {"op": "isNull", "children": [self.reference.json()]}
            case "bare":
                return self.reference.json()
            case "in":
                equals = [self._json("equal", each, zone) for each in self._common()]
                return equals[0] if len(equals) == 1 else {"op": "or", "children": equals}
            case "between":
                low = self._json("greaterThanOrEqual", self.literals[0], zone)
                high = self._json("lessThanOrEqual", self.literals[1], zone)
                return {"op": "and", "children": [low, high]}
            case "<>":
                return {"op": "not", "children": [self._json("equal", self.literals[0], zone)]}
            case "<=>":
                equal = self._json("equal", self.literals[0], zone)
                null = [{"op": "isNull", "children": [each]} for each in equal["children"]]
                present = [{"op": "not", "children": [each]} for each in null]
                both = {"op": "and", "children": null}
                return {
                    "op": "or",
                    "children": [both, {"op": "and", "children": [*present, equal]}],
                }
            case "constant" | "prefix":
                raise NotJson
        return self._json(_JSON_OPS[self.op], self.literals[0], zone)

    def _json(self, op: str, literal: Constant | None, zone: dt.tzinfo) -> dict[str, Any]:
        """As the client does: both sides in the common type, timestamps cut to milliseconds."""
        own = self.reference.column.type.name
        if literal is None:
            common, text = self.reference.cast or own, "null"
            if common not in _JSON_NAMES:
                raise NotJson
        else:
            common, text = _json_literal(self.reference.cast or own, literal, zone)
        # Of two casts the client keeps the inner one alone: the types then differ.
        column = self.reference.json(self.reference.cast or common)
        children = [column, {"op": "literal", "value": text, "valueType": _JSON_NAMES[common]}]
        if self.flipped:
            flip = {"lessThan": "greaterThan", "greaterThan": "lessThan"}
            flip |= {f"{key}OrEqual": f"{value}OrEqual" for key, value in flip.items()}
            op = flip.get(op, op)
            children.reverse()
        return {"op": op, "children": children}

    def json_text(self, zone: dt.tzinfo) -> str | None:
        try:
            return json.dumps(self.json(zone))
        except NotJson:
            return None

    def evaluate(self, row: tuple[Any, ...], zone: dt.tzinfo) -> bool | None:
        if self.op in ("and", "or"):
            values = {each.evaluate(row, zone) for each in self.children}
            decisive = self.op == "or"
            if decisive in values:
                return decisive
            return None if None in values else not decisive
        if self.op == "not":
            value = self.children[0].evaluate(row, zone)
            return None if value is None else not value
        if self.op == "constant":
            return self.value
        held = row[self.reference.index]
        if self.op == "null":
            return held is None
        if self.op == "<=>":
            if held is None or self.literals[0] is None:
                return held is None and self.literals[0] is None
            return self._compare("=", held, self.literals[0], zone)
        if held is None:
            return None
        if self.op == "bare":
            return held
        if self.op == "prefix":
            return held.startswith(self.literals[0].value)
        if self.op == "between":
            bounds = [
                self._compare(op, held, each, zone)
                for op, each in zip((">=", "<="), self.literals, strict=True)
            ]
            return False if False in bounds else None if None in bounds else True
        if self.op == "in":
            values = {self._compare("=", held, each, zone) for each in self._common()}
            return True if True in values else None if None in values else False
        return self._compare(self.op, held, self.literals[0], zone)

    def _common(self) -> list[Constant | None]:
        """A list's literals in the type that they share with the column: floating point wins."""
        kinds = {each.kind for each in self.literals if each is not None}
        numbers = {"int", "decimal", "double", "float"}
        if kinds <= numbers and "double" in kinds:
            return [
                None if each is None else Constant("double", float(each.value))
                for each in self.literals
            ]
        return list(self.literals)

    def _compare(
        self, op: str, held: Any, literal: Constant | None, zone: dt.tzinfo
    ) -> bool | None:
        if literal is None:
            return None
        found = compare(self.reference.column, self.reference.cast, held, literal, zone)
        return None if found is None else _MEANING[op](found)


def _json_literal(column: str, literal: Constant, zone: dt.tzinfo) -> tuple[str, str]:
    kind, value = literal.kind, literal.value
    if kind == "boolean":
        return "boolean", str(value).lower()
    if kind == "string" and column == "string":
        return "string", value
    if column in ("integer", "long", "float", "double"):
        if kind == "int" and column in ("integer", "long") and abs(value) < 2**63:
            return ("long" if abs(value) >= 2**31 else column), str(value)
        if kind == "double" or (column == "double" and kind in ("int", "float")):
            return "double", java(float(value))
        if kind == "float" or (column == "float" and kind == "int"):
            return "float", java(single(float(value)))
    if kind == "date" and column == "date":
        return "date", str(value)
    if kind in ("wall", "zoned") or (kind == "date" and column == "timestamp"):
        instant, is_instant = _moment(literal, zone)
        if is_instant == "wall":
            instant = instant_us(instant, zone)
        cut = abs(instant) // 1000 * (1 if instant >= 0 else -1)
        # Instant.toString drops a zero fraction.
        text = (EPOCH + dt.timedelta(milliseconds=cut)).isoformat(timespec="milliseconds")
        return "timestamp", text.removesuffix(".000") + "Z"
    raise NotJson


@st.composite
def conditions(draw: st.DrawFn, table: Table, depth: int = 2) -> Condition:
    """A predicate that the client of the table's zone might ask for."""
    if depth and draw(st.integers(0, 2)) == 0:
        op = draw(st.sampled_from(["and", "or", "not", "not"]))
        count = 1 if op == "not" else draw(st.integers(2, 3))
        negation_inside = draw(st.booleans())
        return Condition(
            op,
            children=tuple(draw(conditions(table, depth - 1)) for _ in range(count)),
            flipped=negation_inside,
        )
    index = draw(st.integers(0, len(table.columns) - 1))
    column = table.columns[index]
    name = column.type.name
    op = draw(
        st.sampled_from(
            ["=", "=", "<", "<=", ">", ">=", "<>", "<>", "<=>", "in", "in", "between", "null"]
            + ["prefix"] * 5 * (name == "string")
            + ["bare"] * 3 * (name == "boolean")
            + ["constant"] * (depth < 2)
        )
    )
    if op == "constant":
        return Condition(op, value=draw(st.sampled_from([True, False, None])))
    cast = None
    if op not in ("prefix", "bare") and draw(st.integers(0, 3)) == 0:
        cast = draw(st.sampled_from([None, *_CASTS.get(name, [])]))
    reference = Reference(column, index, cast, draw(st.integers(0, 2)))
    flipped = draw(st.booleans())
    if op in ("null", "bare"):
        return Condition(op, reference)
    if op == "prefix":
        prefix = draw(
            st.sampled_from(["", "a", "ab", "z" * 32, "z" * 34, "😀", "\uffff", "\ud7ff"])
        )
        return Condition(op, reference, (Constant("string", prefix),), flipped=flipped)
    count = {"in": draw(st.sampled_from([1, 2, 3, 20])), "between": 2}.get(op, 1)
    literals = [draw(constants(table, index)) for _ in range(min(count, 4))]
    if count > 4 and literals[0].kind == "int":
        literals += [Constant("int", literals[0].value + 7 * step) for step in range(1, 17)]
    if op in ("in", "between"):
        # Lists of unlike kinds are coerced in ways of their own: one kind, or ints and doubles.
        kinds = [{literals[0].kind}, {"int", "double"}][literals[0].kind in ("int", "double")]
        literals = [each if each.kind in kinds else literals[0] for each in literals]
    if draw(st.integers(0, 7)) == 0:
        literals[-1] = None
    return Condition(
        op, reference, tuple(literals), flipped=flipped and op in ("=", "<", "<=", ">", ">=", "<>")
    )
