// Directed graphs as cells: the edge from i to j of d nodes is i * d + j; cells rise strictly.
#pragma once

#include <numeric>

#include "common.hpp"

namespace graphgauge {

// The other ends of the edges at each node, rising: those of node v are from starts[v] to starts[v + 1] - 1.
struct Neighbours {
  std::vector<i64> starts, ends, edges;

  template <class Near, class Far>
  Neighbours(const i64* cells, i64 count, i64 nodes, Near near, Far far)
      : starts(nodes + 1, 0), ends(count), edges(count) {
    for (i64 edge = 0; edge < count; edge++) starts[near(cells[edge]) + 1]++;
    std::partial_sum(starts.begin(), starts.end(), starts.begin());
    std::vector<i64> next(starts.begin(), starts.end() - 1);
    for (i64 edge = 0; edge < count; edge++) {
      const i64 place = next[near(cells[edge])]++;
      ends[place] = far(cells[edge]), edges[place] = edge;
    }
  }
};

inline Neighbours children_of(const i64* cells, i64 count, i64 nodes) {
  return {cells, count, nodes, [=](i64 cell) { return cell / nodes; }, [=](i64 cell) { return cell % nodes; }};
}

inline Neighbours parents_of(const i64* cells, i64 count, i64 nodes) {
  return {cells, count, nodes, [=](i64 cell) { return cell % nodes; }, [=](i64 cell) { return cell / nodes; }};
}

// An order of the nodes in which no edge leads back (Kahn 1962), or one that ends early, before the nodes of cycles.
inline std::vector<i64> topological_order(const i64* cells, i64 count, i64 nodes) {
  const Neighbours children = children_of(cells, count, nodes);
  std::vector<i64> waiting(nodes, 0), order;
  for (const i64 child : children.ends) waiting[child]++;
  for (i64 node = 0; node < nodes; node++) {
    if (!waiting[node]) order.push_back(node);
  }
  for (std::size_t done = 0; done < order.size(); done++) {
    for (i64 edge = children.starts[order[done]]; edge < children.starts[order[done] + 1]; edge++) {
      if (!--waiting[children.ends[edge]]) order.push_back(children.ends[edge]);
    }
  }
  return order;
}

// For each edge of a DAG, whether it has this direction in every equivalent DAG (Chickering 1995).
// The edges into each node are labelled together, by its nearest parent: the last of them in the order. All are
// compelled if a compelled edge leads into that parent from a node that is not a parent here, or if a parent here is
// not adjacent to it; else those are whose source has a compelled edge into the nearest parent.
inline std::vector<u8> compelled_edges(const i64* cells, i64 count, i64 nodes, const std::vector<i64>& order) {
  const Neighbours parents = parents_of(cells, count, nodes);
  std::vector<i64> place(nodes), parent_of(nodes, -1), above_of(nodes, -1), compelled_above(nodes, -1);
  for (i64 step = 0; step < nodes; step++) place[order[step]] = step;
  std::vector<u8> compelled(count, 0), labels(count, 0);  // by target, and by cell
  for (const i64 node : order) {
    const i64 first = parents.starts[node], last = parents.starts[node + 1];
    if (first == last) continue;
    i64 nearest = parents.ends[first];
    for (i64 edge = first; edge < last; edge++) {
      const i64 parent = parents.ends[edge];
      parent_of[parent] = node;
      if (place[parent] > place[nearest]) nearest = parent;
    }
    bool all = false;
    for (i64 edge = parents.starts[nearest]; edge < parents.starts[nearest + 1]; edge++) {
      const i64 above = parents.ends[edge];
      above_of[above] = node;
      if (compelled[edge]) {
        compelled_above[above] = node;
        all |= parent_of[above] != node;
      }
    }
    for (i64 edge = first; edge < last; edge++) {
      all |= parents.ends[edge] != nearest && above_of[parents.ends[edge]] != node;
    }
    for (i64 edge = first; edge < last; edge++) {
      compelled[edge] = all || compelled_above[parents.ends[edge]] == node;
      labels[parents.edges[edge]] = compelled[edge];
    }
  }
  return labels;
}

// The order in which nodes can be removed as sinks (Dor and Tarsi 1992) from a graph with directed edges and undirected
// ones, which are listed in both directions. All nodes are in it exactly if there is a DAG with the same adjacencies,
// arrows and v-structures; that DAG directs every undirected edge to its earlier end.
inline std::vector<i64> sinks_first(const i64* directed, i64 arrows, const i64* undirected, i64 lines, i64 nodes) {
  // An edge as seen from a node: leaving it, entering it, undirected.
  enum Kind : u8 { LEAVING, ENTERING, UNDIRECTED };
  struct End {
    i64 cell;
    Kind kind;
  };
  std::vector<End> ends;
  std::vector<i64> leaving(nodes, 0), order;
  for (i64 edge = 0; edge < arrows; edge++) {
    const i64 source = directed[edge] / nodes, target = directed[edge] % nodes;
    ends.push_back({directed[edge], LEAVING});
    ends.push_back({target * nodes + source, ENTERING});
    leaving[source]++;
  }
  for (i64 edge = 0; edge < lines; edge++) ends.push_back({undirected[edge], UNDIRECTED});
  std::sort(ends.begin(), ends.end(), [](const End& one, const End& other) { return one.cell < other.cell; });
  std::vector<i64> starts(nodes + 1, 0);
  for (const End& end : ends) starts[end.cell / nodes + 1]++;
  std::partial_sum(starts.begin(), starts.end(), starts.begin());
  const auto neighbour = [&](i64 edge) { return ends[edge].cell % nodes; };
  const auto adjacent = [&](i64 node, i64 other) {
    const auto last = ends.begin() + starts[node + 1];
    const i64 cell = node * nodes + other;
    const auto found = std::lower_bound(ends.begin() + starts[node], last, cell,
                                        [](const End& end, i64 wanted) { return end.cell < wanted; });
    return found != last && found->cell == cell;
  };
  // A node is a sink if no edge leaves it and its undirected neighbours are adjacent to all its other neighbours.
  // Adjacent pairs stay adjacent, and other pairs are waited for, so that each node checks its pairs once: it goes on
  // at first (the undirected neighbour) and second (the other one).
  std::vector<i64> first(starts.begin(), starts.end() - 1), second(first), stack(nodes);
  std::vector<u8> alive(nodes, 1), queued(nodes, 1);
  const auto is_sink = [&](i64 node) {
    if (leaving[node]) return false;
    for (const i64 last = starts[node + 1]; first[node] < last; first[node]++, second[node] = starts[node]) {
      const i64 near = neighbour(first[node]);
      if (ends[first[node]].kind != UNDIRECTED || !alive[near]) continue;
      for (; second[node] < last; second[node]++) {
        const i64 other = neighbour(second[node]);
        if (alive[other] && other != near && !adjacent(near, other)) return false;
      }
    }
    return true;
  };
  std::iota(stack.rbegin(), stack.rend(), i64(0));
  while (!stack.empty()) {
    const i64 node = stack.back();
    stack.pop_back();
    queued[node] = 0;
    if (!alive[node] || !is_sink(node)) continue;
    alive[node] = 0;
    order.push_back(node);
    for (i64 edge = starts[node]; edge < starts[node + 1]; edge++) {
      const i64 other = neighbour(edge);
      if (!alive[other]) continue;
      if (ends[edge].kind == ENTERING) leaving[other]--;
      if (!queued[other]) {
        queued[other] = 1;
        stack.push_back(other);
      }
    }
  }
  return order;
}

}  // namespace graphgauge
