#include "selftest/data.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <numeric>

#include "base/hash.h"
#include "base/philox.h"
#include "gguf/block_code.h"
#include "kernels/weight_format.h"
#include "model/repack.h"

namespace skipstone::selftest {

Random::Random(std::string_view seed) {
  const std::uint64_t hash = fnv1a(seed);
  key_ = {static_cast<std::uint32_t>(hash), static_cast<std::uint32_t>(hash >> 32)};
}

std::uint32_t Random::word() {
  if (used_ == block_.size()) {
    block_ = philox({counter_++, 0, 0, 0}, key_);
    used_ = 0;
  }
  return block_[used_++];
}

float Random::between(float low, float high) {
  return static_cast<float>(static_cast<double>(low) + open_unit(word()) * (static_cast<double>(high) - static_cast<double>(low)));
}

std::vector<float> Random::floats(std::size_t count, float low, float high) {
  std::vector<float> values(count);
  for (float& value : values) value = between(low, high);
  return values;
}

std::vector<std::uint32_t> Random::permutation(std::uint32_t count) {
  std::vector<std::uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0u);
  for (std::uint32_t i = count; i > 1; --i) std::swap(order[i - 1], order[below(i)]);
  return order;
}

namespace {

/// Blocks of a format that cannot be written: random bits, drawn again until the largest weight of a block is between 2^-6 and 2.
void draw_blocks(gguf::Type type, std::span<std::byte> blocks, Random& random) {
  const gguf::Traits& traits = gguf::traits(type);
  std::vector<float> weights(traits.block);
  for (std::size_t at = 0; at < blocks.size(); at += traits.bytes) {
    const std::span<std::byte> block = blocks.subspan(at, traits.bytes);
    const auto is_small = [](float weight) { return std::fabs(weight) < 0x1p-6f; };
    const auto fits = [](float weight) { return std::fabs(weight) <= 2.0f; };
    do {
      for (std::byte& byte : block) byte = static_cast<std::byte>(random.word());
      gguf::dequantize(type, block, weights);
    } while (std::ranges::all_of(weights, is_small) || !std::ranges::all_of(weights, fits));
  }
}

}  // namespace

HostMatrix::HostMatrix(gguf::Type type, std::uint32_t n, std::uint32_t k, Random& random)
    : weights(random.floats(std::size_t{n} * k, -1.0f, 1.0f)) {
  const std::uint64_t row_bytes = gguf::row_bytes(type, k);
  bytes.resize(row_bytes * n);
  if (!gguf::traits(type).writable()) {
    draw_blocks(type, bytes, random);
  } else {
    // Rows differ in size, so that the blocks' scales do.
    for (std::uint32_t row = 0; row < n; ++row) {
      const std::span<float> values = std::span(weights).subspan(std::size_t{row} * k, k);
      const float size = random.between(0.05f, 1.0f);
      for (float& value : values) value *= size;
      gguf::quantize(type, values, std::span(bytes).subspan(row * row_bytes, row_bytes));
    }
  }
  gguf::dequantize(type, bytes, weights);
  tensor.name = "self-test";
  tensor.type = type;
  tensor.dimensions = 2;
  tensor.shape = {k, n, 1, 1};
  tensor.data = bytes;
}

kernels::Matrix place(Bench& bench, const HostMatrix& matrix, std::uint32_t parts, std::uint32_t interleave, std::uint32_t tensor,
                      std::uint32_t whole) {
  return place(bench, matrix.tensor, parts, interleave, tensor, whole);
}

kernels::Matrix place(Bench& bench, const gguf::Tensor& matrix, std::uint32_t parts, std::uint32_t interleave, std::uint32_t tensor,
                      std::uint32_t whole) {
  kernels::Matrix placed;
  placed.tensor = tensor;
  placed.format = matrix.type;
  placed.n = static_cast<std::uint32_t>(matrix.rows());
  placed.k = static_cast<std::uint32_t>(matrix.row_length());
  placed.interleave = interleave;
  std::uint32_t first = 0;
  for (std::uint32_t part = 0; part < parts; ++part) {
    const std::uint32_t rest = placed.n - first;
    const std::uint32_t share = rest / (parts - part) + 1;
    const std::uint32_t rows = part + 1 == parts ? rest : (share + whole - 1) / whole * whole;
    placed.parts.push_back({first, rows});
    const gguf::Tensor* const source = &matrix;
    const model::Planes planes = model::repack_rows(std::span(&source, 1), first, rows, interleave);
    const kernels::Resource quants{kernels::ResourceKind::weight, tensor, static_cast<std::uint16_t>(part), 0};
    bench.put(quants, planes.quants);
    if (!planes.scales.empty()) {
      kernels::Resource scales = quants;
      scales.plane = 1;
      const std::span<const std::byte> table = std::as_bytes(gguf::block_code(matrix.type).table);
      std::vector<std::byte> plane(table.begin(), table.end());
      plane.insert(plane.end(), planes.scales.begin(), planes.scales.end());
      bench.put(scales, plane);
    }
    first += rows;
  }
  return placed;
}

std::vector<float> strided(const std::vector<float>& rows, std::uint32_t n, float filler) {
  const std::size_t count = rows.size() / n, stride = kernels::padded(n);
  std::vector<float> out(count * stride, filler);
  for (std::size_t r = 0; r < count; ++r) {
    std::copy_n(rows.begin() + static_cast<std::ptrdiff_t>(r * n), n, out.begin() + static_cast<std::ptrdiff_t>(r * stride));
  }
  return out;
}

std::vector<float> joined_rows(std::size_t rows, const std::vector<const std::vector<float>*>& tables) {
  std::vector<float> out;
  for (std::size_t row = 0; row < rows; ++row) {
    for (const std::vector<float>* table : tables) {
      const auto length = static_cast<std::ptrdiff_t>(table->size() / rows), first = static_cast<std::ptrdiff_t>(row) * length;
      out.insert(out.end(), table->begin() + first, table->begin() + first + length);
    }
  }
  return out;
}

std::vector<float> row_of(const std::vector<float>& buffer, std::uint32_t n, std::uint32_t row) {
  const auto from = buffer.begin() + static_cast<std::ptrdiff_t>(std::size_t{row} * kernels::padded(n));
  return {from, from + n};
}

std::string suffix(gguf::Type type) {
  std::string name(gguf::traits(type).name);
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return name;
}

std::uint32_t whole_blocks(gguf::Type format, std::uint32_t k) {
  const std::uint32_t block = gguf::traits(format).block;
  return (k + block - 1) / block * block;
}

std::uint32_t odd_row(gguf::Type format) {
  const std::uint32_t block = gguf::traits(format).block;
  return block == 1 ? 172 : block == 32 ? 160 : 3 * block;
}

std::vector<gguf::Type> formats() {
  std::vector<gguf::Type> types;
  for (const kernels::WeightFormat& format : kernels::weight_formats()) types.push_back(format.type);
  return types;
}

}  // namespace skipstone::selftest
