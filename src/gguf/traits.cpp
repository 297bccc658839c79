#include "gguf/traits.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/half.h"
#include "base/status.h"

namespace skipstone::gguf {
namespace {

constexpr float largest_float = 3.40282347e38f, largest_bfloat = 0x1.FEp127f;

#define WITH_KERNELS(id, number, name, block, bytes, quants, scales, largest) Traits{Type::id, name, block, bytes, true, largest},
#define WEIGHT_FORMAT WITH_KERNELS
#define SPARSE_FORMAT(...)
#define TENSOR_TYPE(id, number, name, block, bytes) Traits{Type::id, name, block, bytes, false, 0.0f},
#define REMOVED_TYPE(id, number, name, block, bytes) Traits{Type::id, name, block, bytes, false, 0.0f, true},
constexpr std::array rows = {
#include "gguf/weight_formats.def"
};

// The index is the number, which find_traits relies on.
constexpr auto traits_table = [] {
  auto table = rows;
  for (const Traits& row : rows) table[static_cast<std::size_t>(row.type)] = row;
  return table;
}();

constexpr bool in_order() {
  for (std::size_t i = 0; i < traits_table.size(); ++i) {
    if (static_cast<std::size_t>(traits_table[i].type) != i) return false;
  }
  return true;
}
static_assert(in_order(), "numbers are those from 0 on, each once");

#define WEIGHT_FORMAT(...)
#define SPARSE_FORMAT WITH_KERNELS
constexpr std::array sparse_traits_table = {
#include "gguf/weight_formats.def"
};
constexpr auto first_sparse = static_cast<std::uint32_t>(sparse_traits_table[0].type);
static_assert(static_cast<std::uint32_t>(sparse_traits_table.back().type) == first_sparse + sparse_traits_table.size() - 1);

bool equal_but_for_case(std::string_view a, std::string_view b) {
  return std::ranges::equal(
      a, b, [](char x, char y) { return std::toupper(static_cast<unsigned char>(x)) == std::toupper(static_cast<unsigned char>(y)); });
}

}  // namespace

std::span<const Traits> all_traits() { return traits_table; }
std::span<const Traits> sparse_traits() { return sparse_traits_table; }

bool is_sparse(Type type) { return static_cast<std::uint32_t>(type) - first_sparse < sparse_traits_table.size(); }

bool is_float(Type type) { return traits(type).runnable && traits(type).block == 1; }

const Traits* find_traits(std::uint32_t number) { return number < traits_table.size() ? &traits_table[number] : nullptr; }

const Traits* find_runnable(std::string_view name) {
  for (const std::span<const Traits> table : {all_traits(), sparse_traits()}) {
    for (const Traits& t : table) {
      if (t.runnable && equal_but_for_case(t.name, name)) return &t;
    }
  }
  return nullptr;
}

const Traits& traits(Type type) {
  if (is_sparse(type)) return sparse_traits_table[static_cast<std::uint32_t>(type) - first_sparse];
  const Traits* found = find_traits(static_cast<std::uint32_t>(type));
  if (found == nullptr) fail(Code::internal, "there is no tensor type with the number {}", static_cast<std::uint32_t>(type));
  return *found;
}

std::string runnable_names() {
  std::string names;
  std::string_view last;
  for (const Traits& t : traits_table) {
    if (!t.runnable) continue;
    if (!last.empty()) names.append(names.empty() ? "" : ", ").append(last);
    last = t.name;
  }
  return names.append(" and ").append(last);
}

std::uint64_t row_bytes(Type type, std::uint64_t length) {
  const Traits& t = traits(type);
  if (length % t.block != 0) {
    fail(Code::invalid_argument, "a row of {} weights does not divide into blocks of {} as {} needs", length, t.block, t.name);
  }
  const std::uint64_t blocks = length / t.block;
  if (blocks > UINT64_MAX / t.bytes) fail(Code::invalid_argument, "a row of {} weights is too long to be stored", length);
  return blocks * t.bytes;
}

}  // namespace skipstone::gguf
