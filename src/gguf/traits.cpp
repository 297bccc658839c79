#include "gguf/traits.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/status.h"

namespace skipstone::gguf {
namespace {

constexpr Traits row(std::uint32_t number, std::string_view name, std::uint32_t block, std::uint32_t bytes, float largest = 0.0f) {
  return {static_cast<Type>(number), name, block, bytes, largest > 0.0f, largest, false};
}

constexpr Traits removed(std::uint32_t number, std::string_view name, std::uint32_t block, std::uint32_t bytes) {
  return {static_cast<Type>(number), name, block, bytes, false, 0.0f, true};
}

// Blocks store a binary16 scale: with a symmetric range the largest weight is its largest code times that, with a stored minimum the
// minimum itself has to fit. The search for scales of K-quants needs room on both sides and stops there as well.
constexpr float largest_half = 65504.0f, largest_float = 3.40282347e38f, largest_bfloat = 0x1.FEp127f;

// Numbers and block layouts: enum ggml_type in ggml.h and the block structs in ggml-common.h of https://github.com/ggml-org/ggml.
// The index is the number, which find_traits relies on.
constexpr std::array traits_table = {
    row(0, "F32", 1, 4, largest_float),
    row(1, "F16", 1, 2, largest_half),
    row(2, "Q4_0", 32, 18, 8 * largest_half),
    row(3, "Q4_1", 32, 20, largest_half),
    removed(4, "Q4_2", 16, 10),
    removed(5, "Q4_3", 16, 12),
    row(6, "Q5_0", 32, 22, 16 * largest_half),
    row(7, "Q5_1", 32, 24, largest_half),
    row(8, "Q8_0", 32, 34, 127 * largest_half),
    row(9, "Q8_1", 32, 36),
    row(10, "Q2_K", 256, 84, largest_half),
    row(11, "Q3_K", 256, 110, largest_half),
    row(12, "Q4_K", 256, 144, largest_half),
    row(13, "Q5_K", 256, 176, largest_half),
    row(14, "Q6_K", 256, 210, largest_half),
    row(15, "Q8_K", 256, 292),
    row(16, "IQ2_XXS", 256, 66),
    row(17, "IQ2_XS", 256, 74),
    row(18, "IQ3_XXS", 256, 98),
    row(19, "IQ1_S", 256, 50),
    row(20, "IQ4_NL", 32, 18, largest_half),
    row(21, "IQ3_S", 256, 110),
    row(22, "IQ2_S", 256, 82),
    row(23, "IQ4_XS", 256, 136),
    row(24, "I8", 1, 1),
    row(25, "I16", 1, 2),
    row(26, "I32", 1, 4),
    row(27, "I64", 1, 8),
    row(28, "F64", 1, 8),
    row(29, "IQ1_M", 256, 56),
    row(30, "BF16", 1, 2, largest_bfloat),
    removed(31, "Q4_0_4_4", 32, 18),
    removed(32, "Q4_0_4_8", 32, 18),
    removed(33, "Q4_0_8_8", 32, 18),
    row(34, "TQ1_0", 256, 54),
    row(35, "TQ2_0", 256, 66),
    removed(36, "IQ4_NL_4_4", 32, 18),
    removed(37, "IQ4_NL_4_8", 32, 18),
    removed(38, "IQ4_NL_8_8", 32, 18),
    row(39, "MXFP4", 32, 17),
    row(40, "NVFP4", 64, 36),
    row(41, "Q1_0", 128, 18),
    row(42, "Q2_0", 64, 18),
};

constexpr bool in_order() {
  for (std::size_t i = 0; i < traits_table.size(); ++i) {
    if (static_cast<std::size_t>(traits_table[i].type) != i) return false;
  }
  return true;
}
static_assert(in_order());

constexpr auto first_sparse = static_cast<std::uint32_t>(Type::sparse_f16);
constexpr std::array sparse_traits_table = {
    row(first_sparse, "SPARSE_F16", 32, 4 + 32, largest_half),
    row(first_sparse + 1, "SPARSE_Q8_0", 64, 2 + 8 + 32, 127 * largest_half),
};
static_assert(sparse_traits_table[1].type == Type::sparse_q8_0);

bool equal_but_for_case(std::string_view a, std::string_view b) {
  return std::ranges::equal(
      a, b, [](char x, char y) { return std::toupper(static_cast<unsigned char>(x)) == std::toupper(static_cast<unsigned char>(y)); });
}

}  // namespace

std::span<const Traits> all_traits() { return traits_table; }
std::span<const Traits> sparse_traits() { return sparse_traits_table; }

bool is_sparse(Type type) { return type == Type::sparse_f16 || type == Type::sparse_q8_0; }

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
