#include "sample/rejection.h"

#include <algorithm>
#include <vector>

#include "base/philox.h"
#include "base/status.h"

namespace skipstone::sample {
namespace {

enum Purpose : std::uint32_t { drafting = 1, accepting = 2, replacing = 3 };

}  // namespace

Token draw(std::span<const double> weights, double unit) {
  double total = 0;
  for (const double weight : weights) total += weight;
  if (!(total > 0)) fail(Code::internal, "there is no token to draw: no probability is above 0, or one is no number");
  const double wanted = unit * total;
  double sum = 0;
  std::size_t last = 0;
  for (std::size_t token = 0; token < weights.size(); ++token) {
    if (weights[token] <= 0) continue;
    sum += weights[token];
    last = token;
    if (wanted < sum) break;
  }
  return static_cast<Token>(last);
}

double RejectionSampler::unit(std::uint64_t position, std::uint32_t purpose) const {
  const auto words =
      philox({static_cast<std::uint32_t>(position), static_cast<std::uint32_t>(round_), static_cast<std::uint32_t>(round_ >> 32), purpose},
             {static_cast<std::uint32_t>(seed_), static_cast<std::uint32_t>(seed_ >> 32)});
  const std::uint64_t bits = std::uint64_t{words[0]} << 32 | words[1];
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

Token RejectionSampler::draft(std::span<const double> q, std::uint64_t position) const { return draw(q, unit(position, drafting)); }

Token RejectionSampler::verify(std::span<const double> p, std::span<const double> q, Token drafted, std::uint64_t position) const {
  if (q.empty() || drafted < 0) return draw(p, unit(position, replacing));
  const auto token = static_cast<std::size_t>(drafted);
  if (unit(position, accepting) * q[token] < p[token]) return drafted;
  std::vector<double> rest(p.size());
  double total = 0;
  for (std::size_t i = 0; i < p.size(); ++i) total += rest[i] = std::max(0.0, p[i] - q[i]);
  // Both add up to 1 but for rounding: where nothing is left they are the same distribution, and the draft was as good as any.
  return total > 0 ? draw(rest, unit(position, replacing)) : drafted;
}

}  // namespace skipstone::sample
