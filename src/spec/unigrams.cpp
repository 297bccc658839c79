#include "spec/unigrams.h"

#include <Eigen/Dense>
#include <algorithm>
#include <numeric>

namespace skipstone::spec {
namespace {

using Rows = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

}  // namespace

std::vector<sample::Token> unigram_ranking(std::uint32_t vocabulary, std::uint32_t width, std::uint32_t count, const EmbeddingReader& read,
                                           const std::function<void(double)>& progress) {
  constexpr std::uint32_t most = 256;
  double done = 0.0;
  const auto for_all = [&](const auto& use) {
    for (std::uint32_t first = 0; first < vocabulary; first += most) {
      if (progress) progress(done / (3.0 * vocabulary));
      const std::uint32_t rows = std::min(most, vocabulary - first);
      use(first, Rows(Eigen::Map<const Rows>(read(first, rows).data(), rows, width)));
      done += rows;
    }
  };
  Eigen::VectorXd sum = Eigen::VectorXd::Zero(width);
  for_all([&](std::uint32_t, const Rows& rows) { sum += rows.cast<double>().colwise().sum().transpose(); });
  const Eigen::RowVectorXf mean = (sum / vocabulary).cast<float>().transpose();
  Eigen::MatrixXf covariance = Eigen::MatrixXf::Zero(width, width);
  for_all([&](std::uint32_t, const Rows& rows) {
    const Rows centred = rows.rowwise() - mean;
    covariance.selfadjointView<Eigen::Lower>().rankUpdate(centred.transpose(), 1.0f / static_cast<float>(vocabulary));
  });
  covariance.triangularView<Eigen::StrictlyUpper>() = covariance.transpose();
  std::vector<float> distances(vocabulary);
  for_all([&](std::uint32_t first, const Rows& rows) {
    const Rows centred = rows.rowwise() - mean;
    const Eigen::VectorXf squares = (centred * covariance).cwiseProduct(centred).rowwise().sum();
    std::copy_n(squares.data(), squares.size(), distances.begin() + first);
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

}  // namespace skipstone::spec
