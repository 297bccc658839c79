#include "results/statistics.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <numeric>
#include <type_traits>
#include <utility>
#include <vector>

#include "json/json.h"

namespace cli {
namespace {

using skipstone::Json;

double rate(std::uint64_t count, double seconds) { return seconds > 0 ? static_cast<double>(count) / seconds : 0.0; }

double share(std::uint64_t part, std::uint64_t whole) { return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole); }

template <typename T, typename Of>
concept Is = std::same_as<std::remove_const_t<T>, Of>;

// The fields by name, one list for the reader of skipstone_session_report() and for all writers, in the order of --json. An archive gets
// archive(name, field) for a field at the top, archive.part(part, name, field) for one of an object in it, archive.seconds(name, field)
// for a time, archive.report(...) for what the report alone has, and archive.derived(name, function) for what --json alone has.

template <typename Archive, Is<DraftPosition> Position>
void fields(Archive& archive, Position& p) {
  archive("drafted", p.drafted);
  archive("accepted", p.accepted);
}

template <typename Archive, Is<DrafterShare> Share>
void fields(Archive& archive, Share& s) {
  archive("drafter", s.name);
  archive("rounds", s.rounds);
  archive("drafted", s.drafted);
  archive("accepted", s.accepted);
}

template <typename Archive, Is<Strategy> Candidates>
void fields(Archive& archive, Candidates& s) {
  archive("strategy", s.name);
  archive("rows", s.rows);
  archive("won_by_rank", s.won_by_rank);
  archive("won_by_length", s.won_by_length);
}

template <typename Archive, Is<RunStatistics> Statistics>
void fields(Archive& archive, Statistics& s) {
  archive.report("stop_reason", s.stop_reason);
  archive("prompt_tokens", s.prompt_tokens);
  archive.report("cached_tokens", s.cached_tokens);
  archive("generated_tokens", s.generated_tokens);
  archive.derived("prompt_tokens_per_second", [&] { return rate(s.prompt_tokens, s.prompt_seconds); });
  archive.derived("generation_tokens_per_second", [&] { return rate(s.generated_tokens, s.generation_seconds); });
  archive("drafter", s.drafter);
  archive("by_drafter", s.by_drafter);
  archive("by_strategy", s.strategies);
  archive.part("corpus", "tokens", s.corpus_tokens);
  archive.part("corpus", "bytes", s.corpus_bytes);
  archive.part("corpus", "seconds", s.corpus_seconds);
  archive("rounds", s.rounds);
  archive("device_rounds", s.device_rounds);
  archive("drafted", s.drafted);
  archive("accepted", s.accepted);
  archive.derived("acceptance", [&] { return share(s.accepted, s.drafted); });
  archive.derived("tokens_per_round", [&] { return share(s.generated_tokens, s.rounds); });
  archive("by_position", s.by_position);
  archive.part("experts", "layers", s.expert_layers);
  archive.part("experts", "distinct", s.distinct_experts);
  archive.part("experts", "choices", s.expert_choices);
  archive("skipped_sublayers", s.skipped_sublayers);
  archive("sublayers", s.sublayers);
  archive("skip_set", s.skip_set);
  archive("refreshes", s.refreshes);
  archive("refreshed_sets", s.refreshed_sets);
  archive("chosen", s.chosen);
  archive("lossy", s.lossy);
  archive.report("early", "tokens", s.early_tokens);
  archive.report("early", "layers", s.early_layers);
  archive.report("early", "confident", s.early_confident);
  archive.report("early", "guessed", s.early_guessed);
  archive.report("early", "full", s.early_full);
  archive.report("early", "rejected", s.guesses_rejected);
  archive.derived("average_exit_layer", [&] { return share(s.early_layers, s.early_tokens); });
  archive.derived("exits", [&] { return Json{{"confident", s.early_confident}, {"guessed", s.early_guessed}, {"full", s.early_full}}; });
  archive.derived("guesses_rejected", [&] { return s.guesses_rejected; });
  archive.seconds("prompt", s.prompt_seconds);
  archive.seconds("generation", s.generation_seconds);
  archive.seconds("plain", s.plain_seconds);
  archive.seconds("draft", s.draft_seconds);
  archive.seconds("verify", s.verify_seconds);
  archive.seconds("round", s.round_seconds);
  archive.seconds("refresh", s.refresh_seconds);
  archive.seconds("host", s.host_seconds);
  archive.seconds("device", s.device_seconds);
  archive.seconds("remote", s.remote_seconds);
  archive("pipelined_drafts", s.pipelined_drafts);
  archive.seconds("pipelined", s.pipelined_seconds);
  archive.report("thresholds", s.thresholds);
  archive.report("attention_cosine", s.attention_cosine);
}

class Reader {
 public:
  explicit Reader(const skipstone::SortedJson& object) : object_(object) {}

  template <typename T>
  void operator()(const char* name, T& field) const {
    read(object_.at(name), field);
  }
  template <typename T>
  void part(const char* object, const char* name, T& field) const {
    read(object_.at(object).at(name), field);
  }
  template <typename T>
  void report(const char* name, T& field) const {
    read(object_.at(name), field);
  }
  template <typename T>
  void report(const char* object, const char* name, T& field) const {
    read(object_.at(object).at(name), field);
  }
  void seconds(const char* name, double& field) const { part("seconds", name, field); }
  template <typename Function>
  void derived(const char*, const Function&) const {}

 private:
  template <typename T>
  static void read(const skipstone::SortedJson& value, T& field) {
    value.get_to(field);
  }
  template <typename T>
  requires std::is_class_v<T>
  static void read(const skipstone::SortedJson& list, std::vector<T>& all) {
    for (const auto& value : list) {
      const Reader part(value);
      fields(part, all.emplace_back());
    }
  }

  const skipstone::SortedJson& object_;
};

/// --json, or statistics_record().
enum class Form { json, record };

template <Form form>
class Writer {
 public:
  template <typename T>
  void operator()(const char* name, const T& field) {
    object_[name] = json(field);
  }
  template <typename T>
  void part(const char* object, const char* name, const T& field) {
    object_[object][name] = field;
  }
  template <typename... T>
  void report(const T&...) {}
  void seconds(const std::string& name, double seconds) {
    if (form == Form::json) object_[name + "_ms"] = 1000.0 * seconds;
    if (form == Form::record) object_[name + "_seconds"] = seconds;
  }
  template <typename Function>
  void derived(const char* name, const Function& value) {
    if (form == Form::json) object_[name] = value();
  }

  template <typename T>
  static Json json(const T& value) {
    return value;
  }
  template <typename T>
  requires std::is_class_v<T>
  static Json json(const std::vector<T>& all) {
    Json list = Json::array();
    for (const T& value : all) {
      Writer part;
      fields(part, value);
      list.push_back(part.take());
    }
    return list;
  }

  Json take() { return std::move(object_); }

 private:
  Json object_ = Json::object();
};

std::string milliseconds(double seconds, double of_seconds) {
  return fmt::format("{:10.1f} ms  {:3.0f} %", 1000.0 * seconds, of_seconds > 0 ? 100.0 * seconds / of_seconds : 0.0);
}

}  // namespace

RunStatistics parse_statistics(const std::string& report) {
  const auto document = skipstone::SortedJson::parse(report);
  RunStatistics statistics;
  Reader reader(document);
  fields(reader, statistics);
  return statistics;
}

RunStatistics read_statistics(const skipstone::Session& session) { return parse_statistics(session.report()); }

std::string statistics_text(const RunStatistics& s, const std::string& device) {
  std::string text;
  const auto line = [&](const char* name, const std::string& value) { text += fmt::format("{:<20}{}\n", name, value); };
  line("device", device);
  line("prompt", fmt::format("{:10} tokens {:12.1f} tokens/s {:10.1f} ms", s.prompt_tokens, rate(s.prompt_tokens, s.prompt_seconds),
                             1000.0 * s.prompt_seconds));
  line("generation", fmt::format("{:10} tokens {:12.1f} tokens/s {:10.1f} ms", s.generated_tokens,
                                 rate(s.generated_tokens, s.generation_seconds), 1000.0 * s.generation_seconds));
  if (s.plain_seconds > 0 && s.generation_seconds > 0) {
    line("times plain", fmt::format("{:10.2f}  plain decoding: {:.1f} ms, by the times of these rounds",
                                    s.plain_seconds / s.generation_seconds, 1000.0 * s.plain_seconds));
  }
  line("stopped by", fmt::format("{:>10}", s.stop_reason));
  line("drafter", fmt::format("{:>10}", s.drafter));
  line("rounds",
       s.device_rounds == 0 ? fmt::format("{:10}", s.rounds) : fmt::format("{:10}  {} of them one submission", s.rounds, s.device_rounds));
  if (s.by_drafter.size() > 1) {
    for (const DrafterShare& share : s.by_drafter) {
      line(&share == &s.by_drafter.front() ? "by drafter" : "",
           fmt::format("{:>10}  {} rounds, {} of {} drafts accepted", share.name.empty() ? "none" : share.name, share.rounds,
                       share.accepted, share.drafted));
    }
  }
  line("drafted", fmt::format("{:10}", s.drafted));
  line("accepted", fmt::format("{:10}  {:5.1f} % of the drafted", s.accepted, 100.0 * share(s.accepted, s.drafted)));
  line("tokens per round", fmt::format("{:10.2f}", share(s.generated_tokens, s.rounds)));
  std::size_t position = 0;
  for (const auto& [drafted, accepted] : s.by_position) {
    line(position == 0 ? "accepted by position" : "",
         fmt::format("{:10}  {:5.1f} %  ({} of {})", position + 1, 100.0 * share(accepted, drafted), accepted, drafted));
    ++position;
  }
  for (const Strategy& strategy : s.strategies) {
    const auto &ranks = strategy.won_by_rank, &lengths = strategy.won_by_length;
    line(("rows of " + strategy.name).c_str(),
         fmt::format("{:10}  won {} rounds; by rank {}; by tokens accepted {}", strategy.rows,
                     std::accumulate(ranks.begin(), ranks.end(), std::uint64_t{0}), fmt::join(ranks, " "), fmt::join(lengths, " ")));
  }
  if (s.expert_layers > 0) {
    line("experts", fmt::format("{:10.2f} read by a layer, of {:.2f} that its rows chose", share(s.distinct_experts, s.expert_layers),
                                share(s.expert_choices, s.expert_layers)));
  }
  line("skipped sublayers", fmt::format("{:10} of {}", s.skipped_sublayers, s.sublayers));
  if (!s.skip_set.empty()) line("skip set", fmt::format("{:>10}", s.skip_set));
  if (s.refreshes > 0) {
    line("refreshed",
         fmt::format("{:10}  {} times with another skip set, {:.1f} ms", s.refreshes, s.refreshed_sets, 1000.0 * s.refresh_seconds));
  }
  if (s.corpus_tokens > 0) {
    line("corpus", fmt::format("{:10} tokens, an index of {:.1f} MB, made in {:.2f} s", s.corpus_tokens,
                               1e-6 * static_cast<double>(s.corpus_bytes), s.corpus_seconds));
  }
  if (s.lossy) {
    line("LOSSY", "          the text need not be plain decoding's");
    line("exit layer",
         fmt::format("{:10.2f} on average; {} tokens left sure, {} on a guess, {} not at all; {} guesses given up",
                     share(s.early_layers, s.early_tokens), s.early_confident, s.early_guessed, s.early_full, s.guesses_rejected));
  }
  if (!s.chosen.empty()) line("chosen", s.chosen);
  line("draft", milliseconds(s.draft_seconds, s.generation_seconds));
  line("verify", milliseconds(s.verify_seconds, s.generation_seconds));
  if (s.device_rounds > 0) line("whole rounds", milliseconds(s.round_seconds, s.generation_seconds));
  if (s.remote_seconds > 0) {
    line("other devices", milliseconds(s.remote_seconds, s.generation_seconds) +
                              fmt::format("  of them {:.1f} ms of pipelined drafting ({} drafts that were used)",
                                          1000.0 * s.pipelined_seconds, s.pipelined_drafts));
  }
  line("host", milliseconds(s.host_seconds, s.generation_seconds));
  if (s.rounds > 0) {
    const auto round = [&](double seconds) { return 1e6 * seconds / static_cast<double>(s.rounds); };
    line("per round", fmt::format("{:10.0f} us: draft {:.0f}, verify {:.0f}; host work {:.0f} ({:.1f} %)", round(s.generation_seconds),
                                  round(s.draft_seconds), round(s.verify_seconds), round(s.generation_seconds - s.device_seconds),
                                  100.0 * (1.0 - s.device_seconds / s.generation_seconds)));
  }
  return text;
}

Json statistics_json(const RunStatistics& statistics) {
  Writer<Form::json> writer;
  fields(writer, statistics);
  return writer.take();
}

Json statistics_record(const RunStatistics& statistics) {
  Writer<Form::record> writer;
  fields(writer, statistics);
  return writer.take();
}

Json positions_json(const std::vector<DraftPosition>& positions) { return Writer<Form::record>::json(positions); }

void add_positions(const std::vector<DraftPosition>& more, std::vector<DraftPosition>& sum) {
  if (sum.size() < more.size()) sum.resize(more.size());
  for (std::size_t i = 0; i < more.size(); ++i) {
    sum[i].drafted += more[i].drafted;
    sum[i].accepted += more[i].accepted;
  }
}

std::optional<double> median(std::vector<double> values) {
  if (values.empty()) return std::nullopt;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*std::max_element(values.begin(), middle) + *middle) / 2;
}

std::optional<double> quantile(std::vector<double> values, double share) {
  if (values.empty()) return std::nullopt;
  std::ranges::sort(values);
  const double place = share * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return std::lerp(values[below], values[above], place - static_cast<double>(below));
}

std::optional<double> mean(const std::vector<double>& values) {
  if (values.empty()) return std::nullopt;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

std::optional<double> standard_deviation(const std::vector<double>& values) {
  if (values.size() < 2) return std::nullopt;
  const double middle = *mean(values);
  double sum = 0.0;
  for (const double value : values) sum += (value - middle) * (value - middle);
  return std::sqrt(sum / static_cast<double>(values.size() - 1));
}

std::optional<double> quotient(double dividend, double divisor) {
  if (!(divisor > 0)) return std::nullopt;
  return dividend / divisor;
}

}  // namespace cli
