#include "report/conclusion.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

#include "results/picture.h"

namespace cli::report {
namespace {

constexpr double judged_acceptance = 0.8;
constexpr std::size_t most_listed = 3;

struct Ranked {
  const Line* line;
  Measured measured;
};

using Of = MeasuredValue (*)(const Shape&);

/// The fastest first.
std::vector<Ranked> ranking(const ModelLines& model, Of of) {
  std::vector<Ranked> ranked;
  for (const ShapeLine& line : model.lines) {
    if (const MeasuredValue value = of(*line.shape); value && value->median > 0) ranked.push_back({line.line, *value});
  }
  std::ranges::stable_sort(ranked, std::greater{}, [](const Ranked& one) { return one.measured.median; });
  return ranked;
}

/// The model that most devices decoded; of several the largest.
const ModelLines* judged_model(const std::vector<ModelLines>& models) {
  const auto weight = [](const ModelLines& model) {
    std::uint64_t bytes = 0;
    for (const ShapeLine& line : model.lines) bytes = std::max(bytes, line.shape->tensor_bytes);
    return std::pair(ranking(model, decode_rate).size(), bytes);
  };
  const auto best = std::ranges::max_element(models, {}, weight);
  return best == models.end() || weight(*best).first == 0 ? nullptr : &*best;
}

std::string range_text(const Measured& measured) {
  return measured.spread() ? fmt::format(" ({} to {})", value_text(*measured.lowest), value_text(*measured.highest)) : "";
}

std::string device_of(const Ranked& one) { return fmt::format("device {}", one.line->number); }

bool has_range(const Ranked& one) { return one.measured.spread() && *one.measured.lowest > 0; }

/// Whether the runs of the first, faster device are all faster than those of the second. True where a record lacks its range.
bool differs(const Ranked& one, const Ranked& other) {
  return !has_range(one) || !has_range(other) || *one.measured.lowest > *other.measured.highest;
}

/// "2.26 to 2.76 times by the spread of the runs"
std::string limits_text(const Ranked& one, const Ranked& other) {
  if (!has_range(one) || !has_range(other)) return "the spread of the runs is not known";
  return fmt::format("{:.2f} to {:.2f} times by the spread of the runs", *one.measured.lowest / *other.measured.highest,
                     *one.measured.highest / *other.measured.lowest);
}

/// The fastest device against the next, and against the slowest of more than two.
std::string decoding_text(const ModelLines& model) {
  const std::vector<Ranked> ranked = ranking(model, decode_rate);
  const Ranked& best = ranked.front();
  if (ranked.size() == 1) {
    return fmt::format("{} decodes {} tokens of {} per second{}", best.line->label(), value_text(best.measured.median), model.model,
                       range_text(best.measured));
  }
  const Ranked &next = ranked[1], &last = ranked.back();
  const std::string rates = fmt::format("{} and {} tokens per second", value_text(best.measured.median), value_text(next.measured.median));
  std::string text;
  if (differs(best, next)) {
    text = fmt::format("{} decodes {} fastest, {:.2f} times as fast as {} ({}; {})", best.line->label(), model.model,
                       best.measured.median / next.measured.median, next.line->label(), rates, limits_text(best, next));
  } else {
    text = fmt::format("{} and {} decode {} equally fast within the spread of their runs ({})", best.line->label(), next.line->label(),
                       model.model, rates);
  }
  if (ranked.size() > 2)
    text += fmt::format("; the slowest, {}, has {:.2f} of that speed", last.line->label(), last.measured.median / best.measured.median);
  return text;
}

std::string prompts_text(const ModelLines& model) {
  const std::vector<Ranked> ranked = ranking(model, prompt_rate);
  if (ranked.empty()) return "";
  const Ranked& best = ranked.front();
  if (ranked.size() == 1) return fmt::format(", and {} of a prompt{}", value_text(best.measured.median), range_text(best.measured));
  if (!differs(best, ranked[1]))
    return fmt::format("; {} and {} read prompts equally fast within the spread", device_of(best), device_of(ranked[1]));
  return fmt::format("; {} reads prompts {:.2f} times as fast as {}", device_of(best), best.measured.median / ranked[1].measured.median,
                     device_of(ranked[1]));
}

bool within_spread(const Ranked& one) { return one.measured.spread() && *one.measured.lowest <= 1 && *one.measured.highest >= 1; }

std::string drafts_sentence(const ModelLines& model) {
  const auto ranked = ranking(model, [](const Shape& shape) { return speedup(shape, judged_acceptance); });
  if (ranked.empty()) return fmt::format("What drafts bring was not measured with {}.", model.model);
  const auto pays = [](const Ranked& one) { return one.measured.lowest.value_or(one.measured.median) > 1; };
  const auto paying = static_cast<std::size_t>(std::ranges::count_if(ranked, pays));
  const std::string drafts = fmt::format("Drafts that are accepted with probability {:g}", judged_acceptance);
  const auto beyond = [](const Ranked& one) { return within_spread(one) ? ", no difference beyond the spread" : ""; };
  const Ranked& best = ranked.front();
  if (ranked.size() == 1) {
    return fmt::format("{} {}: {:.2f} times plain decoding{}.", drafts, paying == 1 ? "pay" : "do not pay", best.measured.median,
                       beyond(best));
  }
  std::vector<std::string> gains;
  gains.reserve(ranked.size());
  for (const Ranked& one : ranked) gains.push_back(fmt::format("{:.2f} on {}{}", one.measured.median, device_of(one), beyond(one)));
  if (gains.size() > most_listed) {
    gains.erase(gains.begin() + 1, gains.end() - 1);
    gains.front() += " at most";
    gains.back() += " at least";
  }
  return fmt::format("{} pay on {} of {} devices; times plain decoding: {}.", drafts, paying == 0 ? "none" : std::to_string(paying),
                     ranked.size(), fmt::join(gains, "; "));
}

/// The devices that `chosen` says, as "1 A, 2 B".
template <typename Chosen>
std::string labels(const std::vector<Line>& lines, Chosen chosen) {
  std::vector<std::string> found;
  for (const Line& line : lines) {
    if (chosen(line)) found.push_back(line.label());
  }
  if (found.size() > most_listed) {
    const std::size_t more = found.size() - most_listed;
    found.resize(most_listed);
    found.back() += fmt::format(" and {} more", more);
  }
  return fmt::format("{}", fmt::join(found, ", "));
}

std::string test_text(const std::vector<Line>& lines) {
  const std::string failed = labels(lines, [](const Line& line) { return line.device->doctor && !line.device->doctor->passed; });
  if (!failed.empty()) return fmt::format("The self-test FAILED on {}", failed);
  const std::string untested = labels(lines, [](const Line& line) { return !line.device->doctor; });
  return untested.empty() ? "The self-test passed" : fmt::format("The self-test did not run on {}", untested);
}

std::string text_sentence(const std::vector<Line>& lines) {
  const auto has_text = [](const Line& line) { return line.device->exactness.has_value(); };
  const std::string changed = labels(lines, [&](const Line& line) { return has_text(line) && !line.device->exactness->equal; });
  const std::string other = labels(lines, [&](const Line& line) {
    const Line* first = first_with_text(line, lines);
    return first != nullptr && first->device->exactness->plain != line.device->exactness->plain;
  });
  std::set<const Line*> firsts;
  for (const Line& line : lines) {
    if (has_text(line)) firsts.insert(first_with_text(line, lines));
  }
  const auto texts = std::ranges::count_if(lines, has_text);
  std::string text = test_text(lines) + "; ";
  if (texts == 0) return text + "no text was measured.";
  text += changed.empty() ? "drafts change no text" : fmt::format("drafts CHANGE the text of {}, a defect to be reported", changed);
  if (!other.empty()) return text + fmt::format("; the text of {} is not the first device's, as sums in another order may cause.", other);
  if (firsts.size() > 1) return text + "; their texts are not of one model and length.";
  return text + (texts > 1 ? fmt::format("; {} devices write the same text.", texts) : ".");
}

/// What was measured in `shape` with a spread above the limit, each as "decoding 34 %".
std::vector<std::string> noisy(const Shape& shape) {
  std::vector<std::string> found;
  const auto look = [&](const std::string& what, const MeasuredValue& measured) {
    if (const Value spread = spread_of(measured); spread.value_or(0) > most_spread)
      found.push_back(fmt::format("{} {:.0f} %", what, 100 * *spread));
  };
  look("decoding", decode_rate(shape));
  look("prompt", prompt_rate(shape));
  for (const Pass& pass : shape.passes)
    look(fmt::format("a pass of {} row{}", pass.rows, pass.rows == 1 ? "" : "s"), pass_time(shape, pass.rows));
  for (const double acceptance : shown_acceptances) look(fmt::format("drafts at {:g}", acceptance), speedup(shape, acceptance));
  return found;
}

}  // namespace

std::vector<std::string> conclusions(const std::vector<Line>& lines, const std::vector<ModelLines>& models) {
  std::vector<std::string> sentences;
  const ModelLines* model = judged_model(models);
  if (std::ranges::any_of(lines, [](const Line& line) { return line.record->quick; })) {
    sentences.emplace_back("The speeds of a quick report (--quick) only show that it runs.");
  } else if (model == nullptr) {
    sentences.emplace_back("No device has a speed of decoding.");
  } else {
    sentences.push_back(decoding_text(*model) + prompts_text(*model) + ".");
    sentences.push_back(drafts_sentence(*model));
  }
  sentences.push_back(text_sentence(lines));
  return sentences;
}

std::vector<std::string> noise_warnings(const std::vector<ModelLines>& models) {
  std::vector<std::string> warnings;
  for (const ModelLines& model : models) {
    for (const ShapeLine& line : model.lines) {
      std::vector<std::string> found = noisy(*line.shape);
      if (found.empty() || line.line->record->quick) continue;
      const std::size_t more = found.size() > most_listed ? found.size() - most_listed : 0;
      found.resize(found.size() - more);
      warnings.push_back(fmt::format(
          "{} is too noisy to compare with {}: its runs lie further apart than {:.0f} % of their median ({}{}); measure it again "
          "on an idle machine.",
          line.line->label(), model.model, 100 * most_spread, fmt::join(found, ", "), more > 0 ? fmt::format(", {} more", more) : ""));
    }
  }
  return warnings;
}

}  // namespace cli::report
