// 2:4 sparse blocks: of every four neighbouring weights at most two are stored, with their places. A group of four has four bits in the
// order of the groups, the lower place in the lower two (so the sparse matrix units of GPUs have it too: Mishra et al. 2021, "Accelerating
// sparse deep neural networks", arXiv 2104.08378). SPARSE_F16: 32 weights, {4 bytes of places, 16 halves}. SPARSE_Q8_0: 64 weights,
// {f16 scale, 8 bytes of places, 32 signed bytes}, the scale and codes those that Q8_0 has for the stored weights.
#include "gguf/sparse.h"

#include <array>
#include <cmath>
#include <cstring>

#include "gguf/quants/blocks.h"

namespace skipstone::gguf {
namespace {

constexpr std::size_t group_weights = 4;

/// The places of the two largest of four weights, in order; the former of two equals.
struct Places {
  std::size_t first = 0, second = 1;
};

Places largest_two(const float* weights) {
  std::size_t largest = 0;
  for (std::size_t i = 1; i < group_weights; ++i) {
    if (std::fabs(weights[i]) > std::fabs(weights[largest])) largest = i;
  }
  std::size_t next = largest == 0 ? 1 : 0;
  for (std::size_t i = next + 1; i < group_weights; ++i) {
    if (i != largest && std::fabs(weights[i]) > std::fabs(weights[next])) next = i;
  }
  return largest < next ? Places{largest, next} : Places{next, largest};
}

Places places_at(const std::byte* places, std::size_t group) {
  const auto bits = std::to_integer<unsigned>(places[group / 2]) >> (group % 2 * 4);
  return {bits & 3u, bits >> 2 & 3u};
}

/// `kept`: weights / 2 of them, in the order of the places.
template <std::size_t weights>
void spread(const std::byte* places, const float* kept, float* out) {
  std::fill_n(out, weights, 0.0f);
  for (std::size_t g = 0; g < weights / group_weights; ++g) {
    const Places at = places_at(places, g);
    out[g * group_weights + at.first] = kept[2 * g];
    out[g * group_weights + at.second] = kept[2 * g + 1];
  }
}

template <std::size_t count>
std::array<float, count / 2> gather(const float* weights, std::byte* places) {
  std::array<float, count / 2> kept;
  std::fill_n(places, count / group_weights / 2, std::byte{0});
  for (std::size_t g = 0; g < count / group_weights; ++g) {
    const Places at = largest_two(weights + g * group_weights);
    places[g / 2] |= static_cast<std::byte>((at.first | at.second << 2) << (g % 2 * 4));
    kept[2 * g] = weights[g * group_weights + at.first];
    kept[2 * g + 1] = weights[g * group_weights + at.second];
  }
  return kept;
}

void expand_sparse_f16(const std::byte* block, float* out) {
  std::array<float, 16> kept;
  for (std::size_t i = 0; i < kept.size(); ++i) kept[i] = half_at(block + 4 + 2 * i);
  spread<32>(block, kept.data(), out);
}

void round_sparse_f16(const float* weights, std::byte* block) {
  const auto kept = gather<32>(weights, block);
  for (std::size_t i = 0; i < kept.size(); ++i) store16(block + 4 + 2 * i, float_to_half(kept[i]));
}

void expand_sparse_q8_0(const std::byte* block, float* out) {
  const float scale = half_at(block);
  std::array<float, 32> kept;
  for (std::size_t i = 0; i < kept.size(); ++i) kept[i] = scale * static_cast<float>(std::bit_cast<std::int8_t>(block[10 + i]));
  spread<64>(block + 2, kept.data(), out);
}

void round_sparse_q8_0(const float* weights, std::byte* block) {
  const auto kept = gather<64>(weights, block + 2);
  std::array<std::byte, 34> dense;
  quantize(Type::q8_0, kept, dense);
  std::memcpy(block, dense.data(), 2);
  std::memcpy(block + 10, dense.data() + 2, 32);
}

// Plane 1: the scale as a float, the places of both blocks of 32.
void repack_sparse_q8_0(const std::byte* block, std::byte* quants, std::byte* scales) {
  put_float(half_at(block), scales);
  std::memcpy(scales + 4, block + 2, 8);
  std::memcpy(quants, block + 10, 32);
}

/// The bytes of places in a block, and where they start.
struct PlaceBytes {
  std::size_t at, count;
};

PlaceBytes place_bytes(Type type) { return type == Type::sparse_f16 ? PlaceBytes{0, 4} : PlaceBytes{2, 8}; }

/// Whether in each of eight groups the second place is after the first: 3 + second - first, which is 4 to 6 then and 0 to 3 otherwise,
/// for all eight at once.
bool in_order(std::uint32_t places) {
  const std::uint32_t first = places & 0x33333333u, second = places >> 2 & 0x33333333u;
  return (((second | 0x44444444u) - first - 0x11111111u) & 0x44444444u) == 0x44444444u;
}

}  // namespace

// Of random places some are out of order or the same: 11 of 32 weights are there.
constexpr BlockCode sparse_f16_code =
    code_of_blocks<Type::sparse_f16, expand_sparse_f16, split_block<4, 32>, round_sparse_f16>({random_halves, random_bits, 0.338}, nullptr);
constexpr BlockCode sparse_q8_0_code = code_of_blocks<Type::sparse_q8_0, expand_sparse_q8_0, repack_sparse_q8_0, round_sparse_q8_0>(
    {random_bits, {RandomPattern::Number::f32, 6, 1}, 45.1}, halves_are_finite<Type::sparse_q8_0, 0>);

std::optional<std::uint64_t> find_misplaced(const Tensor& tensor) {
  if (!is_sparse(tensor.type)) return std::nullopt;
  const PlaceBytes places = place_bytes(tensor.type);
  const std::size_t block = traits(tensor.type).bytes;
  std::optional<std::uint64_t> misplaced;
  tensor.data.for_each_piece(block, [&](std::uint64_t start, std::span<const std::byte> piece) {
    if (misplaced) return;
    for (std::size_t at = 0; at < piece.size(); at += block) {
      for (std::size_t word = 0; word < places.count; word += 4) {
        std::uint32_t eight_groups = 0;
        std::memcpy(&eight_groups, &piece[at + places.at + word], sizeof eight_groups);
        if (in_order(eight_groups)) continue;
        misplaced = (start + at) / row_bytes(tensor.type, tensor.row_length());
        return;
      }
    }
  });
  return misplaced;
}

}  // namespace skipstone::gguf
