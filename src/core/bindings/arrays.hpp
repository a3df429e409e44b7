// Arrays at the border between Python and the loops. Read-only and memory-mapped arrays are taken as they are; other
// strides, byte orders and types than the declared ones are refused, never copied. While a loop runs, the interpreter
// is free for other threads: nobody may change an array that it reads. What indexes memory is checked here, once, by
// Offsets, Indices and Cells, so that no call can read outside its arrays.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <initializer_list>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>

#include "../common.hpp"

namespace nanobind::detail {
template <>
struct dtype_traits<graphgauge::half> {
  static constexpr dlpack::dtype value{static_cast<uint8_t>(dlpack::dtype_code::Float), 16, 1};
  static constexpr auto name = const_name("float16");
};
}  // namespace nanobind::detail

namespace graphgauge {

namespace nb = nanobind;
using namespace nb::literals;

// An array of its own type, so that one at an address that is no multiple of its elements' size is refused too.
template <class Array>
class Aligned : public Array {
 public:
  Aligned() = default;
  explicit Aligned(const Array& array) : Array(array) {}
  bool holds() const {
    return reinterpret_cast<std::uintptr_t>(this->data()) % alignof(std::remove_pointer_t<decltype(this->data())>) == 0;
  }
};

template <class T, std::size_t N>
using In = Aligned<nb::ndarray<const T, nb::ndim<N>, nb::c_contig, nb::device::cpu>>;
// Of any number of dimensions.
template <class T>
using AnyIn = Aligned<nb::ndarray<const T, nb::c_contig, nb::device::cpu>>;

[[noreturn]] inline void refuse(const std::string& message) { throw std::invalid_argument(message); }
inline void require(bool holds, const char* message) {
  if (!holds) refuse(message);
}

// Whether two arrays have the same shape.
template <class One, class Other>
bool alike(const One& one, const Other& other) {
  return std::equal(one.shape_ptr(), one.shape_ptr() + one.ndim(), other.shape_ptr(), other.shape_ptr() + other.ndim());
}

// Bounds of consecutive parts of an array: one more than there are parts, never falling, from 0 or more to at most
// `size`.
class Offsets {
 public:
  Offsets(const In<i64, 1>& array, i64 size, const char* name) : data_(array.data()), parts_(i64(array.shape(0)) - 1) {
    if (parts_ < 0) refuse(std::string(name) + " is empty: n parts have n + 1 offsets");
    if (data_[0] < 0 || data_[parts_] > size) {
      refuse(std::string(name) + " must lie between 0 and " + std::to_string(size));
    }
    for (i64 part = 0; part < parts_; part++) {
      if (data_[part] > data_[part + 1]) refuse(std::string(name) + " falls at index " + std::to_string(part + 1));
    }
  }
  const i64* data() const { return data_; }
  i64 parts() const { return parts_; }

 private:
  const i64* data_;
  i64 parts_;
};

// Positions in an array of `size` elements.
template <class T>
class Indices {
 public:
  template <class Array>
  Indices(const Aligned<Array>& array, i64 size, const char* name) : data_(array.data()), count_(i64(array.size())) {
    require(size >= 0, "a number of things is negative");
    for (i64 i = 0; i < count_; i++) {
      if (data_[i] >= 0 && i64(data_[i]) < size) continue;
      refuse(std::string(name) + " has " + std::to_string(i64(data_[i])) + " at index " + std::to_string(i) +
             ", outside of 0 to " + std::to_string(size - 1));
    }
  }
  const T* data() const { return data_; }
  i64 count() const { return count_; }

 private:
  const T* data_;
  i64 count_;
};

// A graph: the neighbours of node i are indices[offsets[i]] to indices[offsets[i + 1] - 1].
class Csr {
 public:
  // An undirected one has no loops, and neighbours that rise; each edge is listed from both of its ends.
  enum Kind { ANY, UNDIRECTED };
  Csr(const In<i64, 1>& offsets, const In<i64, 1>& indices, Kind kind)
      : offsets_(offsets, i64(indices.shape(0)), "offsets"), indices_(indices, offsets_.parts(), "indices") {
    if (kind == ANY) return;
    const i64 *start = offsets_.data(), *around = indices_.data();
    std::vector<i64> next(start, start + nodes());  // of each node, the neighbour whose edges come next
    for (i64 node = 0; node < nodes(); node++) {
      for (i64 edge = start[node]; edge < start[node + 1]; edge++) {
        const i64 other = around[edge];
        if (other == node || (edge > start[node] && around[edge - 1] >= other)) {
          refuse("node " + std::to_string(node) + " is its own neighbour, or its neighbours do not rise");
        }
        if (next[other] >= start[other + 1] || around[next[other]++] != node) {
          refuse("the edge from " + std::to_string(node) + " to " + std::to_string(other) + " has no way back");
        }
      }
    }
  }
  i64 nodes() const { return offsets_.parts(); }
  const i64* offsets() const { return offsets_.data(); }
  const i64* indices() const { return indices_.data(); }

 private:
  Offsets offsets_;
  Indices<i64> indices_;
};

// Edges between `nodes` nodes, each once and in order: from i to j is i * nodes + j.
class Cells {
 public:
  Cells(const In<i64, 1>& array, i64 nodes, const char* name) : data_(array.data()), count_(i64(array.shape(0))) {
    require(nodes >= 0 && nodes < (i64(1) << 31), "nodes must be from 0 to 2**31 - 1");
    for (i64 edge = 0; edge < count_; edge++) {
      if (data_[edge] >= 0 && data_[edge] < nodes * nodes && (!edge || data_[edge - 1] < data_[edge])) continue;
      refuse(std::string(name) + " must rise within 0 to nodes ** 2 - 1, and does not at index " +
             std::to_string(edge));
    }
  }
  const i64* data() const { return data_; }
  i64 count() const { return count_; }

 private:
  const i64* data_;
  i64 count_;
};

// An array that a loop fills and Python then owns. It is not cleared.
template <class T>
class Out {
 public:
  explicit Out(std::initializer_list<i64> shape) : shape_(shape.begin(), shape.end()) {
    std::size_t size = 1, room = 1;  // strides are counted even where another length is 0
    for (const auto length : shape_) {
      const auto least = std::max<std::size_t>(length, 1);
      if (room > PTRDIFF_MAX / sizeof(T) / least) throw std::bad_alloc();
      room *= least, size *= length;
    }
    data_.reset(new (std::nothrow) T[std::max<std::size_t>(size, 1)]);
    if (!data_) throw std::bad_alloc();
  }
  T* data() { return data_.get(); }
  static nb::object copied(const T* data, i64 size) {
    Out out({size});
    std::copy(data, data + size, out.data());
    return out.array();
  }
  nb::object array() {
    T* data = data_.release();
    nb::capsule owner(data, [](void* owned) noexcept { delete[] static_cast<T*>(owned); });
    return nb::cast(nb::ndarray<nb::numpy, T>(data, shape_.size(), shape_.data(), owner));
  }

 private:
  std::unique_ptr<T[]> data_;
  std::vector<std::size_t> shape_;
};

// What a call returns if it fills several arrays.
template <class... Outs>
nb::tuple arrays_of(Outs&... outs) {
  return nb::make_tuple(outs.array()...);
}

// f<T>() for each of these types.
template <class... Types, class F>
void each_type(F&& f) {
  (f.template operator()<Types>(), ...);
}

// A loop, while other Python threads may run.
template <class F>
void compute(F&& loop) {
  const nb::gil_scoped_release released;
  loop();
}

// What each file of bindings adds to the module.
void bind_distances(nb::module_& module);
void bind_forecast(nb::module_& module);
void bind_graphs(nb::module_& module);
void bind_ranking(nb::module_& module);

}  // namespace graphgauge

namespace nanobind::detail {
template <class Array>
struct type_caster<graphgauge::Aligned<Array>> {
  NB_TYPE_CASTER(graphgauge::Aligned<Array>, make_caster<Array>::Name)

  bool from_python(handle source, uint32_t flags, cleanup_list* cleanup) noexcept {
    make_caster<Array> caster;
    if (!caster.from_python(source, flags & ~uint32_t(cast_flags::convert), cleanup)) return false;
    value = graphgauge::Aligned<Array>(caster.value);
    return value.holds();
  }
};
}  // namespace nanobind::detail
