// Canonical forms of graphs: equal for isomorphic graphs, and different for others unless hashes collide.
//
// Colours are refined until they are stable (Weisfeiler and Leman 1968). Then nodes of the first cell of equal colours
// are singled out one by one, colours are refined again, and the smallest numbering that results is the form (McKay and
// Piperno 2014). Components are searched separately, so that equal ones do not multiply the search.
#pragma once

#include <cstring>
#include <numeric>

#include "common.hpp"

namespace graphgauge {

// Graph g has nodes[g] nodes and the edges offsets[g] to offsets[g + 1] - 1, edge e from ends[2 * e] to
// ends[2 * e + 1], numbered within the graph. Words label the nodes of all graphs and the edges; null if none are
// labelled.
struct Graphs {
  i64 count;
  const i64 *nodes, *offsets, *ends;
  const u64 *node_words, *edge_words;
  bool directed;
};

using Words = std::vector<u64>;

constexpr i64 GRAPHS = 8;  // of a chunk
constexpr int ROUNDS = 4;  // of refinement, for colours

// The bits of a word, mixed (splitmix64).
inline u64 mixed(u64 word) {
  word += 0x9E3779B97F4A7C15u;
  word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9u;
  word = (word ^ (word >> 27)) * 0x94D049BB133111EBu;
  return word ^ (word >> 31);
}

// An edge as its source sees it; the target of a directed edge sees it with another word.
struct Link {
  i64 to;
  u64 word;
  bool operator<(const Link& other) const { return to != other.to ? to < other.to : word < other.word; }
  bool operator==(const Link& other) const { return to == other.to && word == other.word; }
};

// Nodes with their labels, and the links of node i from starts[i] to starts[i + 1] - 1.
struct Linked {
  Words labels;
  std::vector<i64> starts;
  std::vector<Link> links;
  i64 nodes() const { return i64(labels.size()); }

  Words refined(const Words& colours) const {
    Words next(colours.size());
    for (i64 node = 0; node < nodes(); node++) {
      u64 around = 0;
      for (i64 i = starts[node]; i < starts[node + 1]; i++) {
        around += mixed(mixed(colours[links[i].to]) + links[i].word);
      }
      next[node] = mixed(colours[node] + mixed(around));
    }
    return next;
  }
};

inline i64 distinct(Words colours) {
  std::sort(colours.begin(), colours.end());
  return std::unique(colours.begin(), colours.end()) - colours.begin();
}

struct TooSymmetric {};

class Search {
 public:
  Search(const Linked& graph, bool directed, i64& budget)
      : graph_(graph), budget_(budget), tree_(!directed && i64(graph.links.size()) / 2 < graph.nodes()) {}

  Words form() { return best(stable(graph_.labels)); }

 private:
  // The smallest numbering below these colours.
  Words best(Words colours) {
    std::vector<i64> cell = first_cell(colours);
    // Nodes of a tree that have equal colours, and twins, are images of each other: one is as good as all.
    for (; !cell.empty() && (tree_ || twins(cell)); cell = first_cell(colours)) colours = singled(colours, cell[0]);
    if (cell.empty()) return numbered(colours);
    // Only children with the smallest colours can have the smallest numbering; isomorphic graphs agree on them.
    std::vector<std::pair<Words, Words>> children;
    for (const i64 node : cell) {
      Words child = singled(colours, node), key = child;
      std::sort(key.begin(), key.end());
      children.emplace_back(std::move(key), std::move(child));
    }
    const auto before = [](const auto& a, const auto& b) {
      return std::memcmp(a.first.data(), b.first.data(), a.first.size() * sizeof(u64)) < 0;
    };
    const Words least = std::min_element(children.begin(), children.end(), before)->first;
    Words found, path;
    for (const auto& [key, child] : children) {
      if (key != least) continue;
      if (found.empty()) {
        found = best(child), path = leaf(child);
      } else if (leaf(child) != path) {  // equal numberings are an automorphism: the subtree repeats the first one
        found = std::min(found, best(child));
      }
    }
    return found;
  }

  // The numbering at the end of one path.
  Words leaf(Words colours) {
    for (auto cell = first_cell(colours); !cell.empty(); cell = first_cell(colours)) {
      colours = singled(colours, cell[0]);
    }
    return numbered(colours);
  }

  // The nodes of one colour: of the smallest cells of several nodes, the one with the smallest colour.
  std::vector<i64> first_cell(const Words& colours) const {
    const std::vector<i64> order = by_colour(colours);
    i64 first = 0, size = 0;
    for (i64 start = 0, stop; start < graph_.nodes(); start = stop) {
      for (stop = start + 1; stop < graph_.nodes() && colours[order[stop]] == colours[order[start]];) stop++;
      if (stop - start > 1 && (!size || stop - start < size)) first = start, size = stop - start;
    }
    return {order.begin() + first, order.begin() + first + size};
  }

  std::vector<i64> by_colour(const Words& colours) const {
    std::vector<i64> order(graph_.nodes());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(),
              [&](i64 a, i64 b) { return colours[a] != colours[b] ? colours[a] < colours[b] : a < b; });
    return order;
  }

  // Whether all nodes of a cell have the same links to others, and the same to each other or none.
  bool twins(const std::vector<i64>& cell) const {
    const auto around = [&](i64 node) {
      std::vector<Link> found;
      for (i64 i = graph_.starts[node]; i < graph_.starts[node + 1]; i++) {
        const bool inside = std::binary_search(cell.begin(), cell.end(), graph_.links[i].to);
        found.push_back({inside ? -1 : graph_.links[i].to, graph_.links[i].word});
      }
      std::sort(found.begin(), found.end());
      return found;
    };
    const std::vector<Link> first = around(cell[0]);
    i64 inner = 0;
    while (inner < i64(first.size()) && first[inner].to < 0) inner++;
    if (inner && (inner != i64(cell.size()) - 1 || !(first[0] == first[inner - 1]))) return false;
    return std::all_of(cell.begin() + 1, cell.end(), [&](i64 node) { return around(node) == first; });
  }

  Words singled(Words colours, i64 node) {
    colours[node] = mixed(colours[node] ^ 0xD6E8FEB86659FD93u);
    return stable(std::move(colours));
  }

  // Colours refined until no further ones appear.
  Words stable(Words colours) {
    if (!budget_) throw TooSymmetric();
    budget_--;
    for (i64 count = distinct(colours);;) {
      colours = graph_.refined(colours);
      const i64 found = distinct(colours);
      if (found == count) return colours;
      count = found;
    }
  }

  // The graph with its nodes numbered by colour.
  Words numbered(const Words& colours) const {
    const std::vector<i64> order = by_colour(colours);
    std::vector<i64> number(order.size());
    for (std::size_t place = 0; place < order.size(); place++) number[order[place]] = i64(place);
    Words found;
    std::vector<Link> around;
    for (const i64 node : order) {
      around.assign(graph_.links.begin() + graph_.starts[node], graph_.links.begin() + graph_.starts[node + 1]);
      for (Link& link : around) link.to = number[link.to];
      std::sort(around.begin(), around.end());
      found.insert(found.end(), {graph_.labels[node], u64(around.size())});
      for (const Link& link : around) found.insert(found.end(), {u64(link.to), link.word});
    }
    return found;
  }

  const Linked& graph_;
  i64& budget_;
  bool tree_;
};

// Nodes in the order `members`, which no link leaves.
inline Linked part_of(const Linked& graph, const i64* members, i64 count, std::vector<i64>& number) {
  Linked part;
  for (i64 place = 0; place < count; place++) number[members[place]] = place;
  part.starts.push_back(0);
  for (i64 place = 0; place < count; place++) {
    const i64 node = members[place];
    part.labels.push_back(graph.labels[node]);
    for (i64 i = graph.starts[node]; i < graph.starts[node + 1]; i++) {
      part.links.push_back({number[graph.links[i].to], graph.links[i].word});
    }
    part.starts.push_back(i64(part.links.size()));
  }
  return part;
}

inline Linked linked(const Graphs& graphs, i64 graph, i64 start) {
  const i64 nodes = graphs.nodes[graph], first = graphs.offsets[graph], last = graphs.offsets[graph + 1];
  Linked found{Words(nodes), std::vector<i64>(nodes + 1), std::vector<Link>(2 * (last - first))};
  if (graphs.node_words) std::copy_n(graphs.node_words + start, nodes, found.labels.begin());
  for (i64 end = 2 * first; end < 2 * last; end++) found.starts[graphs.ends[end] + 1]++;
  std::partial_sum(found.starts.begin(), found.starts.end(), found.starts.begin());
  std::vector<i64> next(found.starts.begin(), found.starts.end() - 1);
  for (i64 edge = first; edge < last; edge++) {
    const i64 from = graphs.ends[2 * edge], to = graphs.ends[2 * edge + 1];
    const u64 word = graphs.edge_words ? graphs.edge_words[edge] : 1;
    found.links[next[from]++] = {to, word};
    found.links[next[to]++] = {from, graphs.directed ? mixed(word) : word};
  }
  return found;
}

inline u64 colours_of(const Linked& graph) {
  Words colours = graph.labels;
  for (i64 node = 0; node < graph.nodes(); node++) {
    for (i64 i = graph.starts[node]; i < graph.starts[node + 1]; i++) colours[node] += mixed(graph.links[i].word);
  }
  for (int round = 0; round < ROUNDS; round++) colours = graph.refined(colours);
  u64 sum = 0;
  for (const u64 colour : colours) sum += mixed(colour);
  return sum;
}

// The forms of all components, in order.
inline std::vector<Words> component_forms(const Linked& graph, bool directed, i64 bound) {
  std::vector<Words> forms;
  std::vector<i64> number(graph.nodes()), members;
  std::vector<u8> met(graph.nodes());
  for (i64 root = 0; root < graph.nodes(); root++) {
    if (met[root]) continue;
    met[root] = 1, members.assign(1, root);
    for (std::size_t place = 0; place < members.size(); place++) {
      for (i64 i = graph.starts[members[place]]; i < graph.starts[members[place] + 1]; i++) {
        const i64 other = graph.links[i].to;
        if (!met[other]) met[other] = 1, members.push_back(other);
      }
    }
    std::sort(members.begin(), members.end());
    const Linked part = part_of(graph, members.data(), i64(members.size()), number);
    forms.push_back(Search(part, directed, bound).form());
  }
  std::sort(forms.begin(), forms.end());
  return forms;
}

inline u64 hashed(const std::vector<Words>& forms, i64 nodes, u64 seed) {
  u64 hash = mixed(seed ^ u64(nodes));
  for (const Words& form : forms) {
    hash = mixed(hash ^ form.size());
    for (const u64 word : form) hash = mixed(hash ^ word);
  }
  return hash;
}

// For each graph: two words of its form, and whether its search took more than `bound` refinements, so that it has
// none. Its colours are a word that isomorphic graphs share, as many others do.
inline void graph_words(const Graphs& graphs, i64 bound, u64* forms, u64* colours, bool* undecided, int threads) {
  std::vector<i64> starts(graphs.count + 1);
  std::partial_sum(graphs.nodes, graphs.nodes + graphs.count, starts.begin() + 1);
  parallel((graphs.count + GRAPHS - 1) / GRAPHS, threads, [&](i64 chunk) {
    for (i64 graph = chunk * GRAPHS; graph < std::min(graphs.count, (chunk + 1) * GRAPHS); graph++) {
      const Linked own = linked(graphs, graph, starts[graph]);
      colours[graph] = colours_of(own);
      undecided[graph] = false;
      try {
        const std::vector<Words> found = component_forms(own, graphs.directed, bound);
        for (u64 half = 0; half < 2; half++) forms[2 * graph + half] = hashed(found, own.nodes(), mixed(half));
      } catch (const TooSymmetric&) {
        undecided[graph] = true, forms[2 * graph] = forms[2 * graph + 1] = 0;
      }
    }
  });
}

}  // namespace graphgauge
