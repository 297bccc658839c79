#include "speculation/bigrams.h"

#include <algorithm>
#include <numeric>

#include "base/status.h"

namespace skipstone::speculation {

Bigrams::Bigrams(std::uint32_t width, std::vector<Token> next) : width_(width), next_(std::move(next)) {
  if (width_ == 0 || next_.size() % width_ != 0) fail(Code::internal, "{} bigrams are no table of width {}", next_.size(), width_);
}

std::span<const Token> Bigrams::after(Token token) const {
  if (token < 0 || static_cast<std::uint32_t>(token) >= vocabulary()) return {};
  return std::span(next_).subspan(static_cast<std::size_t>(token) * width_, width_);
}

namespace {

constexpr std::uint32_t most = 256;  // embeddings at once

/// C += A B, all row-major: C is rows x columns, A is rows x inner with its element (i, k) at a[i * row_step + k * inner_step], B is
/// inner x columns. In blocks of 4 x 8 sums that a compiler keeps in registers.
void add_product(const float* a, std::size_t row_step, std::size_t inner_step, const float* b, float* c, std::size_t rows,
                 std::size_t inner, std::size_t columns) {
  constexpr std::size_t high = 4, wide = 8;
  for (std::size_t j = 0; j < columns; j += wide) {
    const std::size_t across = std::min(wide, columns - j);
    for (std::size_t i = 0; i < rows; i += high) {
      const std::size_t down = std::min(high, rows - i);
      float sums[high][wide] = {};
      if (across == wide && down == high) {
        for (std::size_t k = 0; k < inner; ++k) {
          for (std::size_t y = 0; y < high; ++y) {
            const float factor = a[(i + y) * row_step + k * inner_step];
            for (std::size_t x = 0; x < wide; ++x) sums[y][x] += factor * b[k * columns + j + x];
          }
        }
      } else {
        for (std::size_t k = 0; k < inner; ++k) {
          for (std::size_t y = 0; y < down; ++y) {
            for (std::size_t x = 0; x < across; ++x) sums[y][x] += a[(i + y) * row_step + k * inner_step] * b[k * columns + j + x];
          }
        }
      }
      for (std::size_t y = 0; y < down; ++y) {
        for (std::size_t x = 0; x < across; ++x) c[(i + y) * columns + j + x] += sums[y][x];
      }
    }
  }
}

}  // namespace

std::vector<sample::Token> unigram_ranking(std::uint32_t vocabulary, std::uint32_t width, std::uint32_t count, const EmbeddingReader& read,
                                           const std::function<void(double)>& progress) {
  double done = 0.0;
  std::vector<double> sum(width);
  std::vector<float> mean(width), centred;
  const auto for_all = [&](const auto& use) {
    for (std::uint32_t first = 0; first < vocabulary; first += most) {
      if (progress) progress(done / (3.0 * vocabulary));
      const std::uint32_t rows = std::min(most, vocabulary - first);
      const std::span<const float> embeddings = read(first, rows);
      centred.assign(embeddings.begin(), embeddings.begin() + static_cast<std::ptrdiff_t>(rows) * width);
      for (std::uint32_t row = 0; row < rows; ++row) {
        for (std::uint32_t i = 0; i < width; ++i) centred[std::size_t{row} * width + i] -= mean[i];
      }
      use(first, rows);
      done += rows;
    }
  };
  for_all([&](std::uint32_t, std::uint32_t rows) {
    for (std::uint32_t row = 0; row < rows; ++row) {
      for (std::uint32_t i = 0; i < width; ++i) sum[i] += static_cast<double>(centred[std::size_t{row} * width + i]);
    }
  });
  for (std::uint32_t i = 0; i < width; ++i) mean[i] = static_cast<float>(sum[i] / vocabulary);
  std::vector<float> covariance(std::size_t{width} * width);
  for_all([&](std::uint32_t, std::uint32_t rows) {
    add_product(centred.data(), 1, width, centred.data(), covariance.data(), width, rows, width);
  });
  for (float& value : covariance) value /= static_cast<float>(vocabulary);
  std::vector<float> distances(vocabulary), product;
  for_all([&](std::uint32_t first, std::uint32_t rows) {
    product.assign(std::size_t{rows} * width, 0.0f);
    add_product(centred.data(), width, 1, covariance.data(), product.data(), rows, width, width);
    for (std::uint32_t row = 0; row < rows; ++row) {
      const float* at = product.data() + std::size_t{row} * width;
      distances[first + row] = std::inner_product(at, at + width, centred.data() + std::size_t{row} * width, 0.0f);
    }
  });
  std::vector<sample::Token> order(vocabulary);
  std::iota(order.begin(), order.end(), 0);
  const auto nearer = [&](sample::Token a, sample::Token b) {
    const float x = distances[static_cast<std::size_t>(a)], y = distances[static_cast<std::size_t>(b)];
    return x != y ? x < y : a < b;
  };
  count = std::min(count, vocabulary);
  std::partial_sort(order.begin(), order.begin() + count, order.end(), nearer);
  order.resize(count);
  return order;
}

}  // namespace skipstone::speculation
