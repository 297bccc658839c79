// Statistics and reports of single measurements. No device is needed.
#include "bench/speed.h"

#include <fmt/format.h>

#include <cmath>

#include "bench/summary.h"
#include "json/json.h"
#include "results/fitted_grid.h"
#include "results/formats.h"
#include "results/statistics.h"

namespace cli::bench {
namespace {

using Row = std::vector<std::string>;

std::vector<double> rates(const TestResult& result) {
  std::vector<double> values;
  for (const double seconds : result.seconds) values.push_back(quotient(result.test.tokens(), seconds).value_or(0.0));
  return values;
}

/// A token at position p reads the keys and values of p + 1 tokens, its own among them.
std::optional<double> bytes_per_pass(const Speed& speed, const Test& test) {
  if (test.prompt > 0 || test.chains > 0) return std::nullopt;
  const double keys = test.depth + (test.decodes() ? (test.generate + 1) / 2.0 : test.rows);
  return static_cast<double>(speed.bytes_per_token) + keys * static_cast<double>(speed.kv_bytes_per_token);
}

std::optional<double> cost(const Speed& speed, const TestResult& result) {
  for (const TestResult& other : speed.results) {
    if (other.test.rows != 1 || other.test.chains != 0 || other.test.depth != result.test.depth) continue;
    const auto one = median(other.seconds), this_one = median(result.seconds);
    if (one && this_one) return quotient(*this_one, *one);
  }
  return std::nullopt;
}

Json record(const Speed& speed, const TestResult& result) {
  const Statistics s = statistics(speed, result);
  const Test& test = result.test;
  std::vector<std::int64_t> samples_ns;
  for (const double seconds : result.seconds) samples_ns.push_back(std::llround(seconds * 1e9));
  Json fields = to_json(speed.where);
  fields.update(Json{{"model_type", speed.model_type},
                     {"model_size", speed.tensor_bytes},
                     {"model_n_params", speed.parameters},
                     {"test", test.name()},
                     {"n_prompt", test.prompt},
                     {"n_gen", test.generate},
                     {"n_depth", test.depth},
                     {"rows", test.rows},
                     {"chains", test.chains},
                     {"repetitions", result.seconds.size()},
                     {"avg_ns", std::llround(s.average_ns)},
                     {"stddev_ns", s.deviation_ns ? Json(std::llround(*s.deviation_ns)) : Json(nullptr)},
                     {"median_ns", std::llround(s.median_ns)},
                     {"avg_ts", s.average_rate},
                     {"stddev_ts", value_of(s.deviation_rate)},
                     {"median_ts", s.median_rate},
                     {"ms", s.median_ns * 1e-6},
                     {"v", value_of(s.cost)},
                     {"bytes_per_pass", value_of(s.bytes_per_pass)},
                     {"copy_bytes_per_second", value_of(speed.copy_bandwidth)},
                     {"bandwidth_share", value_of(s.bandwidth_share)},
                     {"interrupted", speed.interrupted},
                     {"samples_ns", samples_ns},
                     {"samples_ts", rates(result)}});
  return fields;
}

std::string with_spread(double middle, std::optional<double> deviation) {
  return deviation ? fmt::format("{:.2f} ± {:.2f}", middle, *deviation) : fmt::format("{:.2f}", middle);
}

std::string size_text(std::uint64_t bytes) {
  const double mib = static_cast<double>(bytes) / (1 << 20);
  return mib < 1024 ? fmt::format("{:.2f} MiB", mib) : fmt::format("{:.2f} GiB", mib / 1024);
}

std::string parameters_text(std::uint64_t count) {
  const auto number = static_cast<double>(count);
  return number < 1e9 ? fmt::format("{:.2f} M", number * 1e-6) : fmt::format("{:.2f} B", number * 1e-9);
}

std::string share_text(std::optional<double> share) { return share ? fmt::format("{:.1f} %", 100 * *share) : "-"; }

void add_test(const Speed& speed, const TestResult& result, std::vector<Row>& tests, std::vector<Row>& rows) {
  const Statistics s = statistics(speed, result);
  if (result.test.rows == 0) {
    tests.push_back({cell(speed.where.model), speed.model_type, size_text(speed.tensor_bytes), parameters_text(speed.parameters),
                     result.test.name(), with_spread(s.average_rate, s.deviation_rate), fmt::format("{:.2f}", s.median_rate),
                     share_text(s.bandwidth_share)});
    return;
  }
  const auto milliseconds = [](std::optional<double> ns) { return ns ? fmt::format("{:.3f}", *ns * 1e-6) : "-"; };
  rows.push_back({cell(speed.where.model), speed.model_type, fmt::to_string(result.test.depth),
                  result.test.chains > 0 ? fmt::format("{}x{}", result.test.chains, result.test.rows) : fmt::to_string(result.test.rows),
                  milliseconds(s.median_ns), milliseconds(s.deviation_ns), s.cost ? fmt::format("{:.2f}", *s.cost) : "-",
                  fmt::format("{:.1f}", s.median_rate), share_text(s.bandwidth_share)});
}

std::string markdown(const std::vector<Speed>& speeds) {
  std::string text = "# skipstone bench\n\n" + device_text(speeds.front().where);
  if (const auto copies = speeds.front().copy_bandwidth) text += fmt::format("- copy bandwidth: {:.1f} GB/s\n", *copies * 1e-9);
  std::vector<Row> tests{{"model", "type", "size", "params", "test", "t/s", "median", "bandwidth"}};
  std::vector<Row> rows{{"model", "type", "depth", "rows", "ms", "±", "v(n)", "rows/s", "bandwidth"}};
  for (const Speed& speed : speeds) {
    text += model_text(speed.where);
    text += fmt::format("  - context {}, KV cache {}; file {}\n", speed.where.context, speed.where.kv_type, cell(speed.where.model_path));
    if (speed.interrupted) text += "- **interrupted**: not every repetition was run\n";
    for (const TestResult& result : speed.results) {
      if (!result.seconds.empty()) add_test(speed, result, tests, rows);
    }
  }
  if (tests.size() > 1)
    text += "\nTokens per second: mean and standard deviation, median; share of the copy bandwidth that decoding reads with\n\n" +
            fitted_grid(tests, {.left = 5, .keys = 5}, output_width());
  if (rows.size() > 1)
    text +=
        "\nOne pass over n rows (kxn: a call over k chains of n): median and standard deviation; v(n), its time by that of one row\n\n" +
        fitted_grid(rows, {.left = 2, .keys = 4}, output_width());
  return text;
}

}  // namespace

Statistics statistics(const Speed& speed, const TestResult& result) {
  const std::vector<double> rate = rates(result);
  const auto in_ns = [](std::optional<double> seconds) { return seconds ? std::optional(*seconds * 1e9) : std::nullopt; };
  Statistics s;
  s.average_ns = in_ns(mean(result.seconds)).value_or(0.0);
  s.median_ns = in_ns(median(result.seconds)).value_or(0.0);
  s.deviation_ns = in_ns(standard_deviation(result.seconds));
  s.average_rate = mean(rate).value_or(0.0);
  s.median_rate = median(rate).value_or(0.0);
  s.deviation_rate = standard_deviation(rate);
  s.bytes_per_pass = bytes_per_pass(speed, result.test);
  if (s.bytes_per_pass && speed.copy_bandwidth) {
    const double passes = result.test.rows > 0 ? 1.0 : result.test.generate;
    s.bandwidth_share = quotient(*s.bytes_per_pass * passes, s.median_ns * 1e-9 * *speed.copy_bandwidth);
  }
  if (result.test.rows > 0) s.cost = cost(speed, result);
  return s;
}

std::vector<Json> speed_records(const std::vector<Speed>& speeds) {
  std::vector<Json> records;
  for (const Speed& speed : speeds) {
    for (const TestResult& result : speed.results) {
      if (!result.seconds.empty()) records.push_back(record(speed, result));
    }
  }
  return records;
}

std::string speed_report(const std::vector<Speed>& speeds, Format format) {
  const std::vector<Json> records = speed_records(speeds);
  std::string text;
  switch (format) {
    case Format::csv:
      return csv(records);
    case Format::json:
      return dump(records, 1) + '\n';
    case Format::jsonl:
      for (const Json& fields : records) text += json_line("test", fields);
      return text;
    case Format::sql:
      return sql("skipstone_tests", records);
    case Format::markdown:
      break;
  }
  return markdown(speeds);
}

}  // namespace cli::bench
