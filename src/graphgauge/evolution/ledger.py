"""A ledger of a growing graph: nodes and edges that were born, died, were born again or merged, cycle by cycle.

Events are kept in the order in which they happened. `Ledger.changes` replays them and gives, for every cycle, the graph
before and after it and the difference, reconciled with what the events declare. Readers are in `ledger_readers`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

import numpy as np

from graphgauge.core.arrays import Ints, on_host
from graphgauge.core.errors import InputError, one_of
from graphgauge.evolution.inputs import Flags, among, as_edges, distinct, inserted, labels_by_node

UNDECLARED = ("refuse", "report")
# `ABOUT` describes a node, and changes nothing.
BIRTH, DEATH, MERGE, ABOUT = 0, 1, 2, 3
# Number of examples in an error message.
_SHOWN = 3
# The cycle of everything that was there before the first one.
START = -1


@dataclass(frozen=True)
class Balance:
    """What a cycle declared, and what its graphs show.

    `declared` are births of edges, `reborn` those of edges that had died. `appeared` and `lost` edges were in the
    graphs but not declared, `absent` ones were declared and not in the graphs: births that are not in the graph after
    the cycle, or deaths of edges that were not there. Merges move edges, or join them with others (`merged_edges`): the
    graph after has `declared` − `deaths` − `merged_edges` more edges than before, and `appeared` − `lost` more.
    `stray` edges have an end that never was born or that is dead.
    `absent_nodes` were declared to have died or merged and were not there, `repeated_nodes` were born though they were
    there, or merged into themselves.
    """

    declared: int = 0
    appeared: int = 0
    lost: int = 0
    absent: int = 0
    reborn: int = 0
    deaths: int = 0
    repeated: int = 0
    transient: int = 0
    stray: int = 0
    moved: int = 0
    merged_edges: int = 0
    node_births: int = 0
    node_deaths: int = 0
    node_reborn: int = 0
    merges: int = 0
    absent_nodes: int = 0
    repeated_nodes: int = 0


@dataclass(frozen=True)
class Events:
    """The events of one cycle in order: `target` is −1 if the event is about a node.

    The `kind` is the number of an edge's relation, or of a node's type.
    """

    action: Ints
    source: Ints
    target: Ints
    kind: Ints

    def __len__(self) -> int:
        return len(self.action)


@dataclass(frozen=True)
class Codes:
    """Edges as numbers: ((relation · nodes) + source) · nodes + target; without direction the smaller end is first."""

    nodes: int
    directed: bool = False

    def of(self, edges: Ints) -> Ints:
        """Codes of (M, 2) edges, or of (M, 3) with the relation."""
        first, second = edges[:, 0], edges[:, 1]
        if not self.directed:
            first, second = np.minimum(first, second), np.maximum(first, second)
        codes: Ints = first * self.nodes + second
        if edges.shape[1] == 2:
            return codes
        most = np.iinfo(np.int64).max // max(self.nodes, 1) ** 2 - 1
        if edges[:, 2].max(initial=0) > most:
            raise InputError(
                f"relation {edges[:, 2].max()} is too large for {self.nodes} nodes: at most {most}",
                where="relations",
                fix="Number the relations 0, 1, 2 …, such as np.unique(relations, return_inverse=True)[1].",
            )
        return codes + edges[:, 2] * self.nodes**2

    def edges(self, codes: Ints, *, relations: bool = False) -> Ints:
        """The edges again, (M, 2), or (M, 3) with their relations."""
        size = max(self.nodes, 1)
        relation, pair = np.divmod(codes, size * size) if len(codes) else (codes, codes)
        parts = [pair // size, pair % size, *([relation] if relations else [])]
        return np.stack(parts, axis=1)


@dataclass(frozen=True)
class Change:
    """One cycle: the graph before and after as sorted codes, and what was born, died and moved in between.

    `births` and `deaths` are (M, 2), or (M, 3) with the relation if the ledger has several; births are in the order in
    which they happened. `reborn` says which births are of edges that existed before and had died. `present` says which
    rows are nodes after the cycle.
    """

    cycle: int
    codes: Codes
    before: Ints
    after: Ints
    births: Ints
    reborn: Flags
    deaths: Ints
    born_nodes: Ints
    dead_nodes: Ints
    merges: Ints
    present: Flags
    balance: Balance
    relations: bool = False
    reborn_nodes: Ints = field(default_factory=lambda: np.empty(0, np.int64))

    @property
    def nodes(self) -> int:
        return self.codes.nodes

    @cached_property
    def edges_before(self) -> Ints:
        return self.codes.edges(self.before, relations=self.relations)

    @cached_property
    def edges_after(self) -> Ints:
        return self.codes.edges(self.after, relations=self.relations)


@dataclass(frozen=True)
class Ledger:
    """What changed in a graph. Nodes have any ids; a node's row is its place in `ids`.

    `blocks` gives the events of each cycle in order, from memory or from disk; those of cycle −1 built the graph before
    the first cycle. `node_types` has the number of each row's type. `declares_nodes` says whether nodes have events of
    their own: an edge of a node that was never born is then an error; otherwise nodes are born with their first edge.
    `ordered` says that the rows of an array are known to be in the order of `ids`: they were given, or are numbers.
    """

    blocks: Callable[[], Iterator[tuple[int, Events]]]
    ids: Sequence[Hashable]
    directed: bool = False
    relations: tuple[str, ...] = ("",)
    type_names: tuple[str, ...] = ("",)
    node_types: Ints | None = None
    labels: Mapping[Hashable, Any] | None = None
    declares_nodes: bool = False
    times: Mapping[int, Any] = field(default_factory=dict)
    ordered: bool = True

    def __repr__(self) -> str:
        kinds = f", {len(self.relations)} relations" if len(self.relations) > 1 else ""
        return f"Ledger({'directed' if self.directed else 'undirected'}, {self.nodes} nodes{kinds})"

    @classmethod
    def of(cls, events: Iterable[Any], **options: Any) -> Ledger:
        """A ledger of events: mappings with `action`, `cycle` or `time`, and `source` and `target`, or `node`.

        See `read_ledger` for the names and options.

        Parameters
        ----------
        events
            The events, in order.
        options
            `directed`, `every`, `start`, `ids` and `columns` of `read_ledger`.

        Returns
        -------
        Ledger
            Births and deaths by cycle.

        Raises
        ------
        InputError
            If an event cannot be read.

        Examples
        --------
        >>> from graphgauge import evolution
        >>> ledger = evolution.Ledger.of([
        ...     {"cycle": 0, "action": "birth", "source": "a", "target": "b"},
        ...     {"cycle": 1, "action": "death", "source": "b", "target": "a"},
        ...     {"cycle": 2, "action": "birth", "source": "a", "target": "b"},
        ... ])
        >>> [change.balance.reborn for change in ledger.changes()]
        [0, 0, 1]
        """
        from graphgauge.evolution.ledger_readers import ledger_of

        return ledger_of(events, **options)

    @property
    def nodes(self) -> int:
        return len(self.ids)

    @property
    def codes(self) -> Codes:
        return Codes(self.nodes, self.directed)

    @cached_property
    def _rows(self) -> Mapping[Hashable, int]:
        return {own: row for row, own in enumerate(self.ids)}

    def types_by_row(self, types: Any) -> Any:
        """A mapping from id to type, as a list in the order of the rows; others are in this order already.

        Parameters
        ----------
        types
            A mapping from id to type, or one type per row.

        Returns
        -------
        Any
            One type per row.

        Raises
        ------
        InputError
            If a node has no type.
        """
        types = labels_by_node(types)
        if not isinstance(types, Mapping):
            return types
        missing = [own for own in self.ids if own not in types]
        if missing:
            raise InputError(
                f"{len(missing)} of {self.nodes} nodes have no type, the first is {missing[0]!r}",
                where="node_types",
                fix="Give every node a type.",
            )
        return [types[own] for own in self.ids]

    def row(self, own: Hashable) -> int | None:
        """The row of a node, by its id; None if it is none of the ledger.

        Parameters
        ----------
        own
            The id of a node.

        Returns
        -------
        int | None
            The row, or None.
        """
        return self._rows.get(own)

    def rows(self, ids: Iterable[Hashable]) -> Ints:
        """The rows of nodes, by their ids.

        Parameters
        ----------
        ids
            Ids of nodes.

        Returns
        -------
        Ints
            Their rows, in the same order.

        Raises
        ------
        InputError
            If an id is not in the ledger.
        """
        listed = list(on_host(ids, "ids"))
        if isinstance(self.ids, range) and len(listed) > len(self.ids) // 8:
            found = np.asarray(listed)
            if found.dtype.kind in "iu" and found.min(initial=0) >= 0 and found.max(initial=0) < len(self.ids):
                return found.astype(np.int64)
        try:
            return np.array([self._rows[own] for own in listed], np.int64)
        except KeyError as unknown:
            raise InputError(
                f"{unknown.args[0]!r} is not a node of the ledger",
                where="ledger",
                fix="Use the ids of its events, such as those in ledger.ids.",
            ) from None

    def changes(self, *, snapshots: Mapping[int, Any] | None = None, undeclared: str = "refuse") -> Iterator[Change]:
        """Replay the ledger, one cycle at a time.

        Parameters
        ----------
        snapshots
            The edges of the graph after some cycles, as (E, 2) rows or codes' arrays, to reconcile the events with.
        undeclared
            `refuse` raises an error at the first cycle whose events and graphs disagree, `report` counts it in
            `Change.balance`. After a snapshot the replay goes on with the graph of the snapshot.

        Returns
        -------
        Iterator[Change]
            One change per cycle, after the start.

        Raises
        ------
        InputError
            If events and graphs disagree and `undeclared` is `refuse`, or a snapshot is of no cycle.
        """
        one_of("undeclared", undeclared, UNDECLARED)
        state = _State(self)
        waiting = dict(snapshots or {})
        for cycle, events in self.blocks():
            change = state.replay(cycle, events, waiting.pop(cycle, None))
            if undeclared == "refuse":
                self._refuse(change, state)
            if cycle > START:
                yield change
        if waiting:
            raise InputError(
                f"there are snapshots of cycles that the ledger does not have: {', '.join(map(str, waiting))}",
                where="snapshots",
                fix="Number them by the cycles of the ledger; −1 is the start.",
            )

    def edges_at(self, cycle: int) -> Ints:
        """The edges after a cycle, (E, 2) rows of `ids`, or (E, 3) with the relation; −1 is the start.

        Parameters
        ----------
        cycle
            The number of a cycle.

        Returns
        -------
        Ints
            The edges.
        """
        found = np.empty((0, 3 if len(self.relations) > 1 else 2), np.int64)
        state = _State(self)
        for number, events in self.blocks():
            if number > cycle:
                break
            found = state.replay(number, events, None).edges_after
        return found

    def table(self) -> dict[str, Ints]:
        """The balance of every cycle, a column each.

        Returns
        -------
        dict[str, Ints]
            One array per column, with an entry per cycle.
        """
        changes = [(change.cycle, change.balance) for change in self.changes(undeclared="report")]
        columns = {"cycle": np.array([cycle for cycle, _ in changes], np.int64)}
        for part in fields(Balance):
            columns[part.name] = np.array([getattr(balance, part.name) for _, balance in changes], np.int64)
        return columns

    def named(self, edges: Ints) -> list[tuple[Hashable, ...]]:
        """Edges with the ids of their ends, and their relation if there are several.

        Parameters
        ----------
        edges
            Rows of `edges_at`.

        Returns
        -------
        list[tuple[Hashable, ...]]
            One tuple per edge.
        """
        return [
            (self.ids[first], self.ids[second], *(self.relations[own] for own in more))
            for first, second, *more in edges.tolist()
        ]

    def _refuse(self, change: Change, state: _State) -> None:
        for name, (what, fix) in _WRONG.items():
            if count := getattr(change.balance, name):
                nodes = name == "absent_nodes"
                examples = state.examples.get(name, np.empty((0, 2), np.int64))
                listed = [self.ids[node] for node in examples[:, 0].tolist()] if nodes else self.named(examples)
                shown = ", ".join([*map(str, listed), *(["…"] if count > len(listed) else [])])
                when = "before the first cycle" if change.cycle == START else f"cycle {change.cycle}"
                raise InputError(
                    f"{count} {'nodes' if nodes else 'edges'} {what}: {shown}",
                    where=f"ledger, {when}",
                    fix=f'{fix} undeclared="report" counts them instead.',
                )


_WRONG = {
    "appeared": ("are in the snapshot and were never declared", "Declare every birth."),
    "lost": ("are missing from the snapshot and no death was declared", "Declare every death."),
    "absent": ("were declared to have died and were not in the graph", "Remove these deaths, or declare the births."),
    "stray": ("have an end that is not a node: never born, or dead", "Declare the births of nodes before their edges."),
    "absent_nodes": (
        "were declared to have died or merged and were not in the graph",
        "Remove these events, or declare the births of the nodes.",
    ),
}


_COUNTED = ("repeated", "absent", "stray", "moved", "merged_edges", "absent_nodes", "repeated_nodes")


class _State:
    """The graph at one moment of a replay."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger, self.codes = ledger, ledger.codes
        self.edges = np.empty(0, np.int64)
        self.buried = np.empty(0, np.int64)
        self.present = np.zeros(ledger.nodes, bool)
        self.dead = np.zeros(ledger.nodes, bool)
        self.examples: dict[str, Ints] = {}

    def replay(self, cycle: int, events: Events, snapshot: Any) -> Change:
        before, present = self.edges, self.present.copy()
        buried, dead = self.buried, self.dead.copy()
        self.examples, self._counts = {}, dict.fromkeys(_COUNTED, 0)
        self._before = before
        # In a cycle with merges an edge may change its ends: which edges are new, and which old ones died, is followed.
        self._follows = bool((events.action == MERGE).any())
        self._new: set[int] = set()
        self._died: Counter[int] = Counter()
        self._transient = 0
        self._touched: list[Ints] = []
        self._gone: list[Ints] = [np.empty(0, np.int64)]
        merges = self._apply(events)
        declared = self.edges
        undeclared = self._reconciled(snapshot, declared)
        touched = distinct(np.concatenate([*self._touched, np.empty(0, np.int64)]))
        was, remains = among(touched, before), among(touched, declared)
        born, gone, transient = touched[~was & remains], touched[was & ~remains], int(np.count_nonzero(~was & ~remains))
        if self._follows:
            born, gone = (
                distinct(np.array(list(self._new), np.int64)),
                np.array(sorted(self._died.elements()), np.int64),
            )
            transient = self._transient
        # Nobody asks for the order of what was there before the first cycle, which may be the largest part.
        births = self._in_order(events, born) if cycle > START else self.codes.edges(born, relations=True)
        births = births if len(self.ledger.relations) > 1 else np.ascontiguousarray(births[:, :2])
        reborn = among(self.codes.of(births), buried)
        now = among(touched, self.edges)
        back = distinct(np.concatenate([touched[now], undeclared["appeared"]]))
        left = np.concatenate([touched[was & ~now], undeclared["lost"]])
        self.buried = distinct(np.concatenate([buried[~among(buried, back)], left]))
        balance = Balance(
            declared=len(born),
            reborn=int(np.count_nonzero(reborn)),
            deaths=len(gone),
            transient=transient,
            node_births=int(np.count_nonzero(self.present & ~present)),
            node_deaths=int(np.count_nonzero(~self.present & present)),
            node_reborn=int(np.count_nonzero(self.present & ~present & dead)),
            merges=len(merges),
            **self._counts,
            **{name: len(codes) for name, codes in undeclared.items()},
        )
        several = len(self.ledger.relations) > 1
        return Change(
            cycle,
            self.codes,
            before,
            self.edges,
            births,
            reborn,
            self.codes.edges(gone, relations=several),
            np.flatnonzero(self.present & ~present),
            np.flatnonzero(~self.present & present),
            merges,
            self.present.copy(),
            balance,
            several,
            np.flatnonzero(self.present & ~present & dead),
        )

    # ---- events

    def _apply(self, events: Events) -> Ints:
        merges = []
        node = events.target < 0
        ends = (node & (events.action == DEATH)) | (events.action == MERGE)
        # Births of nodes need no order, because an edge may be listed just before its node; but a node that died in
        # this cycle is born again only after that.
        births = node & (events.action == BIRTH)
        again = births & _after_first(events.source, ends)
        self._bear(events.source[births & ~again])
        breaks = np.flatnonzero(ends | again)
        start = 0
        for place in breaks.tolist():
            self._apply_edges(events, start, place, ~node & (events.action != MERGE))
            own = int(events.source[place])
            if again[place]:
                self._bear(events.source[place : place + 1])
            elif events.action[place] == MERGE:
                if self._merge(own, int(events.target[place])):
                    merges.append((own, events.target[place]))
            else:
                self._bury(own)
            start = place + 1
        self._apply_edges(events, start, len(events), ~node & (events.action != MERGE))
        return np.array(merges, np.int64).reshape(-1, 2)

    def _bear(self, nodes: Ints) -> None:
        fresh = distinct(nodes)
        self._counts["repeated_nodes"] += len(nodes) - int(np.count_nonzero(~self.present[fresh]))
        self.present[fresh] = True
        self.dead[fresh] = False

    def _is_absent(self, node: int) -> bool:
        """Whether a node that is declared to go is not there, which is counted."""
        if self.present[node]:
            return False
        self._counts["absent_nodes"] += 1
        shown = self.examples.get("absent_nodes", np.empty((0, 2), np.int64))
        self.examples["absent_nodes"] = np.concatenate([shown, [[node, node]]])[:_SHOWN]
        return True

    def _apply_edges(self, events: Events, start: int, stop: int, edge: Flags) -> None:
        part = np.flatnonzero(edge[start:stop]) + start
        if not len(part):
            return
        ends = np.stack([events.source[part], events.target[part], events.kind[part]], axis=1)
        birth = events.action[part] == BIRTH
        loops = ends[:, 0] == ends[:, 1]
        self._welcome(ends, birth)
        if loops.any():
            ends, birth = ends[~loops], birth[~loops]
        codes = self.codes.of(ends)
        order = np.argsort(codes, kind="stable")
        codes, birth = codes[order], birth[order]
        first = np.ones(len(codes), bool)
        first[1:] = codes[1:] != codes[:-1]
        # Whether the edge was there just before each event: the last event of the edge decides, or the graph.
        there = np.empty(len(codes), bool)
        there[1:] = birth[:-1]
        there[first] = among(codes[first], self.edges)
        self._counts["repeated"] += int(np.count_nonzero(birth & there))
        missing = codes[~birth & ~there]
        # A node's death takes its edges with it; their deaths may be declared too.
        self._note("absent", missing[~among(missing, distinct(np.concatenate(self._gone)))])
        last = np.append(first[1:], True) if len(codes) else first
        final, alive = codes[last], birth[last]
        standing = among(final, self.edges)
        self.edges = inserted(_removed(self.edges, final[~alive & standing]), final[alive & ~standing])
        self._follow(final[alive & ~standing], final[~alive & standing])
        self._touched.append(final)

    def _welcome(self, ends: Ints, birth: Flags) -> None:
        """Nodes are born with their first edge, unless nodes have events of their own."""
        if self.ledger.declares_nodes:
            stray = birth & ~self.present[ends[:, :2]].all(axis=1)
            self._note("stray", self.codes.of(ends[stray]))
        else:
            stray = birth & self.dead[ends[:, :2]].any(axis=1)
            self._note("stray", self.codes.of(ends[stray]))
        named = ends[birth, :2].ravel()
        self.present[named] = True

    def _incident(self, node: int) -> Ints:
        ends = self.codes.edges(self.edges)
        return np.asarray(self.edges[(ends == node).any(axis=1)])

    def _bury(self, node: int) -> None:
        if self._is_absent(node):
            return
        gone = self._incident(node)
        self.edges = _removed(self.edges, gone)
        self._follow(gone[:0], gone)
        self._touched.append(gone)
        self._gone.append(gone)
        self.present[node], self.dead[node] = False, True

    def _follow(self, added: Ints, removed: Ints) -> None:
        """An old edge that dies and comes again within the cycle is old; a new one that dies is transient."""
        if not self._follows:
            return
        for code in removed.tolist():
            if code in self._new:
                self._new.discard(code)
                self._transient += 1
            else:
                self._died[code] += 1
        for code in added.tolist():
            if self._died[code] > 0:
                self._died[code] -= 1
            else:
                self._new.add(code)

    def _merge(self, node: int, into: int) -> bool:
        """Edges of a node go to another one. An edge that was born in this cycle is still a birth, at its new place."""
        if node == into:
            self._counts["repeated_nodes"] += 1
            return False
        if self._is_absent(node) or (self.ledger.declares_nodes and self._is_absent(into)):
            return False
        gone = self._incident(node)
        ends = self.codes.edges(gone, relations=True)
        ends[:, :2] = np.where(ends[:, :2] == node, into, ends[:, :2])
        loops = ends[:, 0] == ends[:, 1]
        images = self.codes.of(ends)
        old = np.array([code not in self._new for code in gone.tolist()], bool)
        self._new -= set(gone.tolist())
        self.edges = _removed(self.edges, gone)
        kept = distinct(images[~loops])
        new = kept[~among(kept, self.edges)]
        of_old = set(images[~loops & old].tolist())
        # What an old edge becomes is old, also if a new one is there already.
        taken = of_old & self._new
        self._new -= taken
        self._new |= set(new.tolist()) - of_old
        moved = len(of_old & set(new.tolist()))
        self.edges = inserted(self.edges, new)
        self._counts["moved"] += moved
        self._counts["merged_edges"] += int(np.count_nonzero(old)) - moved - len(taken)
        self._touched.append(np.concatenate([gone, new]))
        self._gone.append(gone)
        self.present[node], self.dead[node], self.present[into] = False, True, True
        return True

    # ---- reconciling

    def _reconciled(self, snapshot: Any, declared: Ints) -> dict[str, Ints]:
        """Edges that appeared and disappeared without being declared, if the graph after the cycle is known."""
        if snapshot is None:
            return {"appeared": np.empty(0, np.int64), "lost": np.empty(0, np.int64)}
        given = as_edges(snapshot, "snapshot", self.codes.nodes, relations=True)
        found = distinct(self.codes.of(given[given[:, 0] != given[:, 1]]))
        appeared, lost = found[~among(found, declared)], declared[~among(declared, found)]
        self.examples |= {"appeared": self._shown(appeared), "lost": self._shown(lost)}
        self.edges = found
        return {"appeared": appeared, "lost": lost}

    def _note(self, name: str, codes: Ints) -> None:
        self._counts[name] += len(codes)
        if len(codes) and name not in self.examples:
            self.examples[name] = self._shown(codes)

    def _shown(self, codes: Ints) -> Ints:
        return self.codes.edges(codes[:_SHOWN], relations=len(self.ledger.relations) > 1)

    def _in_order(self, events: Events, born: Ints) -> Ints:
        """Births as they were first declared in this cycle, from source to target."""
        width = 3 if len(self.ledger.relations) > 1 else 2
        edge = np.flatnonzero((events.target >= 0) & (events.action == BIRTH))
        ends = np.stack([events.source[edge], events.target[edge], events.kind[edge]], axis=1)
        for place in np.flatnonzero(events.action == MERGE).tolist():
            earlier = ends[edge < place, :2]
            ends[edge < place, :2] = np.where(earlier == events.source[place], events.target[place], earlier)
        ends = ends[ends[:, 0] != ends[:, 1]]
        codes = self.codes.of(ends)
        _, places = np.unique(codes, return_index=True)
        places = np.sort(places)
        return np.ascontiguousarray(ends[places[among(codes[places], born)], :width])


def _after_first(nodes: Ints, ends: Flags) -> Flags:
    """Which events come after one that ends their node."""
    found = np.zeros(len(nodes), bool)
    if ends.any():
        first: dict[int, int] = {}
        for place in np.flatnonzero(ends).tolist():
            first.setdefault(int(nodes[place]), place)
        for place in np.flatnonzero(np.isin(nodes, list(first))).tolist():
            found[place] = place > first[int(nodes[place])]
    return found


def _removed(ordered: Ints, codes: Ints) -> Ints:
    if not len(codes):
        return ordered
    keep = np.ones(len(ordered), bool)
    keep[np.searchsorted(ordered, codes)] = False
    return ordered[keep]
