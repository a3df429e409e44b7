// Scores as whole numbers, and things in their order.
#pragma once

#include <array>
#include <bit>
#include <type_traits>
#include <utility>

#include "common.hpp"

namespace graphgauge {

// A whole number that rises with the score; zeros of either sign have the same.
template <class T>
auto rising_key(T score) {
  using Key = std::conditional_t<sizeof(T) == 4, u32, u64>;
  constexpr Key sign = Key(1) << (8 * sizeof(T) - 1);
  if constexpr (std::is_floating_point_v<T>) {
    const auto bits = std::bit_cast<Key>(score + T(0));
    return bits & sign ? ~bits : bits | sign;
  } else {
    return static_cast<Key>(score) ^ (std::is_signed_v<T> ? sign : 0);
  }
}

// A number of one's own, by a key.
template <class T>
struct Entry {
  decltype(rising_key(T())) key;
  u32 number;
};

// Entries by rising key, those of the same key in their order: by some bits at a time from the lowest, without the
// passes in which all have the same.
template <int BITS, class T>
void sort_by_key(std::vector<Entry<T>>& entries, std::vector<Entry<T>>& spare) {
  if (entries.size() < 128) {
    std::stable_sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) { return a.key < b.key; });
    return;
  }
  constexpr int passes = (8 * sizeof(T) + BITS - 1) / BITS;
  constexpr u64 most = (u64(1) << BITS) - 1;
  std::vector<std::array<u32, std::size_t(1) << BITS>> counts(passes);
  for (const auto& entry : entries) {
    for (int pass = 0; pass < passes; pass++) counts[pass][(entry.key >> (pass * BITS)) & most]++;
  }
  spare.resize(entries.size());
  for (int pass = 0; pass < passes; pass++) {
    auto& place = counts[pass];
    const int shift = pass * BITS;
    if (place[(entries[0].key >> shift) & most] == entries.size()) continue;
    u32 before = 0;
    for (auto& count : place) before += std::exchange(count, before);
    for (const auto& entry : entries) spare[place[(entry.key >> shift) & most]++] = entry;
    entries.swap(spare);
  }
}

}  // namespace graphgauge
