// The candidates of a row of logits for sampling: no token that counts may be missing, and no logit may be off.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>

#include "base/philox.h"
#include "kernels/abi.h"
#include "selftest/cases.h"
#include "selftest/compare.h"
#include "selftest/data.h"

namespace skipstone::selftest {
namespace {

using kernels::padded;
using kernels::ResourceKind;

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

// Rows that are hard each in a way of its own: a spread as models have it, flat, ties, without numbers here and there, with none at all,
// equal.
std::vector<float> make_logits(Random& random, std::uint32_t vocabulary, std::uint32_t row) {
  std::vector<float> logits = random.floats(vocabulary, row % 6 == 1 ? -1.0f : -16.0f, row % 6 == 1 ? 1.0f : 8.0f);
  const auto scatter = [&](float value, std::uint32_t times) {
    for (std::uint32_t i = 0; i < times; ++i) logits[random.below(vocabulary)] = value;
  };
  switch (row % 6) {
    case 2:
      for (float& logit : logits) logit = std::round(logit);
      break;
    case 3:
      scatter(-infinity, vocabulary / 3), scatter(nan, vocabulary / 3), scatter(-0.0f, 3), scatter(0.0f, 3);
      break;
    case 4:
      std::ranges::fill(logits, nan);
      break;
    case 5:
      std::ranges::fill(logits, -2.5f);
      break;
    default:
      break;
  }
  return logits;
}

abi::CandidateRequest make_request(Random& random, std::uint32_t vocabulary, std::uint32_t row) {
  abi::CandidateRequest request{};
  request.noise = row % 2;
  request.tempered = row / 2 % 2;
  request.inverse_temperature = row % 3 == 0 ? 1.0f : 1.0f / 0.7f;
  request.seed = {random.word(), random.word()};
  request.position = {random.below(5000), row % 5 == 0 ? random.word() : 0};
  request.listed = row % 3 == 0 ? CANDIDATE_LISTED : row;
  for (std::uint32_t i = 0; i < request.listed; ++i) request.tokens[i] = random.below(vocabulary);
  return request;
}

double noise_of(const abi::CandidateRequest& request, std::uint32_t token) {
  const auto words = philox({request.position[0], request.position[1], token / 4, 0}, request.seed);
  return -std::log(-std::log(open_unit(words[token % 4])));
}

/// The candidates of one kind: `score` of a token is the device's within `error`, and not a number where it can be none.
template <typename Score>
std::string check_kind(const std::string& kind, std::span<const float> logits, const abi::CandidateResult& got, std::uint32_t first,
                       std::uint32_t slots, std::uint32_t count, float bound, const Score& score) {
  std::map<std::uint32_t, float> found;
  for (std::uint32_t i = first; i < first + std::min(count, slots); ++i) {
    const std::uint32_t token = got.tokens[i];
    if (token >= logits.size() || !found.emplace(token, got.logits[i]).second)
      return fmt::format("{}: token {} twice or nowhere", kind, token);
    if (std::bit_cast<std::uint32_t>(logits[token]) != std::bit_cast<std::uint32_t>(got.logits[i]))
      return fmt::format("{}: token {} has logit {}, not {}", kind, token, logits[token], got.logits[i]);
  }
  std::uint32_t wanted = 0;
  for (std::uint32_t token = 0; token < logits.size(); ++token) {
    const auto [value, error] = score(token);
    const bool is_found = found.contains(token);
    if (std::isnan(value) && is_found) return fmt::format("{}: token {} is not a number", kind, token);
    if (is_found && value < static_cast<double>(bound) - error) return fmt::format("{}: token {} is below the bound", kind, token);
    if (value >= static_cast<double>(bound) + error && (error > 0 || bound > -infinity || value > static_cast<double>(bound))) {
      ++wanted;
      if (count <= slots && !is_found)
        return fmt::format("{}: token {} of score {} is missing, the bound is {}", kind, token, value, bound);
    }
  }
  if (count < wanted) return fmt::format("{}: {} candidates, wanted {}", kind, count, wanted);
  return "";
}

struct Score {
  double value = 0.0, error = 0.0;
};

std::string check_sums(std::span<const float> logits, const abi::CandidateRequest& request, const abi::CandidateResult& got) {
  float largest = -infinity;
  for (const float logit : logits) {
    if (logit > largest) largest = logit;  // no NaN is
  }
  const auto sum = [&](double factor, double got_sum, const char* name) {
    double wanted = 0.0, units = 0.0;
    for (const float logit : logits) {
      if (!(logit < got.likely_bound) || logit == -infinity) continue;
      const double x = (static_cast<double>(logit) - static_cast<double>(largest)) * factor, term = std::exp(x);
      wanted += term;
      // exp twice, in its group and where groups are joined; the difference and its product round before.
      units += term * (8 - 6 * x);
    }
    return differs(name, static_cast<float>(got_sum), wanted, (units + static_cast<double>(logits.size()) * wanted) * epsilon);
  };
  std::string difference = sum(1.0, static_cast<double>(got.rest), "rest");
  if (difference.empty() && request.tempered != 0)
    difference = sum(static_cast<double>(request.inverse_temperature), static_cast<double>(got.tempered), "tempered rest");
  return difference;
}

std::string check_row(std::span<const float> logits, const abi::CandidateRequest& request, const abi::CandidateResult& got) {
  for (std::uint32_t i = 0; i < request.listed; ++i) {
    if (std::bit_cast<std::uint32_t>(got.listed[i]) != std::bit_cast<std::uint32_t>(logits[request.tokens[i]]))
      return fmt::format("listed token {} has logit {}, not {}", request.tokens[i], logits[request.tokens[i]], got.listed[i]);
  }
  const std::uint32_t slots = request.noise != 0 ? CANDIDATE_SLOTS / 2 : CANDIDATE_SLOTS;
  std::string difference = check_kind("likely", logits, got, 0, slots, got.likely, got.likely_bound, [&](std::uint32_t token) {
    return Score{static_cast<double>(logits[token]), 0.0};
  });
  if (difference.empty()) difference = check_sums(logits, request, got);
  if (!difference.empty()) return difference;
  if (request.noise == 0) return got.noisy == 0 ? "" : fmt::format("{} candidates by noise, which were not requested", got.noisy);
  // As much as Sampler::choose() allows for.
  const double error = 0x1p-10 + (std::abs(static_cast<double>(got.noisy_bound)) + 60.0) * 0x1p-20;
  return check_kind("noisy", logits, got, slots, slots, got.noisy, got.noisy_bound, [&](std::uint32_t token) {
    return Score{static_cast<double>(logits[token]) * static_cast<double>(request.inverse_temperature) + noise_of(request, token), error};
  });
}

/// Orders numbers as lib/candidates.glsl does.
std::uint32_t key_of(float number) {
  const auto bits = std::bit_cast<std::uint32_t>(number);
  if (std::isnan(number)) return 0;
  if (number == 0.0f) return 0x80000000u;
  return bits >> 31 != 0 ? ~bits : bits | 0x80000000u;
}

/// The result of candidate_groups for a row.
std::vector<abi::CandidateGroup> make_groups(std::span<const float> logits, const abi::CandidateRequest& request) {
  std::vector<abi::CandidateGroup> groups(CANDIDATE_GROUPS);
  for (std::uint32_t first = 0; first < groups.size(); ++first) {
    abi::CandidateGroup& group = groups[first];
    float largest = -infinity;
    for (std::size_t token = first; token < logits.size(); token += groups.size()) {
      const float logit = logits[token];
      group.largest = std::max(group.largest, key_of(logit));
      if (logit > largest) largest = logit;  // no NaN is
      if (request.noise == 0 || std::isnan(logit)) continue;
      const double score = static_cast<double>(logit) * static_cast<double>(request.inverse_temperature);
      group.noisiest = std::max(group.noisiest, key_of(static_cast<float>(score + noise_of(request, static_cast<std::uint32_t>(token)))));
    }
    for (std::size_t token = first; token < logits.size(); token += groups.size()) {
      if (std::isnan(logits[token]) || logits[token] == -infinity) continue;
      const float below = logits[token] - largest;
      group.sum += std::exp(below);
      group.tempered += std::exp(below * request.inverse_temperature);
    }
  }
  return groups;
}

/// `alone`: the second kernel by itself, with groups of ours.
std::string check(Bench& bench, std::uint32_t vocabulary, std::uint32_t rows, bool alone) {
  Random random(fmt::format("candidates {} {}", vocabulary, rows));
  std::vector<std::vector<float>> logits;
  std::vector<float> written;
  std::vector<abi::CandidateRequest> requests;
  std::vector<abi::CandidateGroup> groups;
  for (std::uint32_t row = 0; row < rows; ++row) {
    logits.push_back(make_logits(random, vocabulary, row));
    requests.push_back(make_request(random, vocabulary, row));
    const std::vector<float> padded_row = strided(logits.back(), vocabulary, infinity);
    written.insert(written.end(), padded_row.begin(), padded_row.end());
    const std::vector<abi::CandidateGroup> of_row = make_groups(logits.back(), requests.back());
    groups.insert(groups.end(), of_row.begin(), of_row.end());
  }
  bench.put({ResourceKind::logits}, written);
  bench.put({ResourceKind::candidate_requests}, requests);
  bench.reserve({ResourceKind::candidates}, rows * sizeof(abi::CandidateResult) / 4);
  const std::vector<kernels::Dispatch> dispatches = kernels::candidates(bench.select(), vocabulary, rows, "candidates");
  if (alone) {
    bench.put({ResourceKind::candidate_groups}, groups);
    bench.run(dispatches.back());
  } else {
    bench.reserve({ResourceKind::candidate_groups}, groups.size() * sizeof(abi::CandidateGroup) / 4);
    bench.run(dispatches);
  }
  const auto got = bench.get<abi::CandidateResult>({ResourceKind::candidates}, rows);
  for (std::uint32_t row = 0; row < rows; ++row) {
    const std::string difference = check_row(logits[row], requests[row], got[row]);
    if (!difference.empty()) return fmt::format("row {}: {}", row, difference);
  }
  return "";
}

}  // namespace

std::vector<Case> candidates_cases(const Scope& scope) {
  std::vector<Case> cases;
  const auto add = [&](std::uint32_t vocabulary, std::uint32_t rows) {
    for (const bool alone : {true, false}) {
      cases.push_back({"candidates", fmt::format("candidates{} V={} rows={}", alone ? " of groups" : "", vocabulary, rows),
                       [=](Bench& bench) { return check(bench, vocabulary, rows, alone); }});
    }
  };
  add(3001, 12);
  if (scope.depth == Depth::quick) return cases;
  for (const std::uint32_t vocabulary : {1u, 5u, 255u, 1024u, 1025u}) add(vocabulary, 6);
  add(152064, 12);
  return cases;
}

}  // namespace skipstone::selftest
