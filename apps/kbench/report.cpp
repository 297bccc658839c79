#include "kbench/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "json/json.h"
#include "kbench/compile.h"
#include "results/formats.h"
#include "results/statistics.h"

namespace kbench {
namespace {

using cli::Json;
using cli::median;
using cli::quotient;
using cli::value_of;

/// (largest - smallest) / median: the range and not a deviation, since the samples are few.
std::optional<double> spread(const Result& result) {
  if (result.seconds.size() < 2) return std::nullopt;
  const auto [low, high] = std::minmax_element(result.seconds.begin(), result.seconds.end());
  return quotient(*high - *low, *median(result.seconds));
}

std::optional<double> cost(const std::vector<Result>& results, const Result& result) {
  for (const Result& one : results) {
    if (one.operation != result.operation || one.format != result.format || one.rows != 1) continue;
    const auto this_one = median(result.seconds), other = median(one.seconds);
    if (this_one && other) return quotient(*this_one, *other);
  }
  return std::nullopt;
}

Json record(const std::vector<Result>& results, const Result& r, const Setting& setting) {
  const auto seconds = median(r.seconds);
  const auto per_second = [&](double amount) { return seconds ? quotient(amount, *seconds) : std::nullopt; };
  const auto bytes = per_second(r.bytes), flops = per_second(r.flops);
  const Figures figures = figures_of(r.statistics);
  Json statistics = Json::array();
  for (const skipstone::vk::PipelineStatistic& s : r.statistics) statistics.push_back(fmt::format("{}={:g}", s.name, s.value));
  return {{"date", setting.date},
          {"version", setting.version},
          {"commit", setting.commit},
          {"device", setting.device},
          {"driver", setting.driver},
          {"clock", setting.timestamps ? "device" : "host"},
          {"operation", r.operation},
          {"kernel", r.kernel},
          {"format", r.format},
          {"shape", r.shape},
          {"rows", r.rows},
          {"passed", r.failure.empty()},
          {"failure", r.failure},
          {"samples", r.seconds.size()},
          {"microseconds", value_of(seconds ? std::optional(*seconds * 1e6) : std::nullopt)},
          {"spread", value_of(spread(r))},
          {"v", value_of(cost(results, r))},
          {"bytes", r.bytes},
          {"flops", r.flops},
          {"bytes_per_second", value_of(bytes)},
          {"flops_per_second", value_of(flops)},
          {"copy_bytes_per_second", setting.copy_bandwidth},
          {"peak_flops_per_second", setting.peak},
          {"bandwidth_share", value_of(bytes ? quotient(*bytes, setting.copy_bandwidth) : std::nullopt)},
          {"peak_share", value_of(flops ? quotient(*flops, setting.peak) : std::nullopt)},
          {"registers", value_of(figures.registers)},
          {"spills", value_of(figures.spills)},
          {"statistics", statistics}};
}

std::string text(const Json& value, double factor, int digits, const char* unit = "") {
  return value.is_null() ? "-" : fmt::format("{:.{}f}{}", value.get<double>() * factor, digits, unit);
}

std::string markdown(const std::vector<Json>& all, const Setting& s) {
  std::string result = fmt::format("# kbench\n\n- skipstone {} ({}), {}\n- device: {}; driver {}; times by the {}'s clock\n", s.version,
                                   s.commit, s.date, cli::cell(s.device), cli::cell(s.driver), s.timestamps ? "device" : "host");
  result += fmt::format("- copy bandwidth {:.1f} GB/s, single-precision peak {:.1f} GFLOP/s\n\n", s.copy_bandwidth * 1e-9, s.peak * 1e-9);
  std::vector<std::vector<std::string>> rows{{"operation", "format", "shape", "kernel", "rows", "us", "spread", "v(n)", "GB/s", "of copy",
                                              "GFLOP/s", "of peak", "registers", "spills"}};
  std::string failures;
  for (const Json& r : all) {
    const auto string = [&](const char* name) { return r[name].get<std::string>(); };
    if (!r["passed"].get<bool>()) {
      failures += fmt::format("- **{} is wrong** and was not timed: {}\n", string("kernel"), cli::cell(string("failure")));
      continue;
    }
    rows.push_back({string("operation"), string("format"), string("shape"), string("kernel"), fmt::to_string(r["rows"].get<int>()),
                    text(r["microseconds"], 1, 1), text(r["spread"], 100, 0, " %"), text(r["v"], 1, 2),
                    text(r["bytes_per_second"], 1e-9, 2), text(r["bandwidth_share"], 100, 1, " %"), text(r["flops_per_second"], 1e-9, 1),
                    text(r["peak_share"], 100, 1, " %"), text(r["registers"], 1, 0), text(r["spills"], 1, 0)});
  }
  if (rows.size() > 1) result += cli::grid(rows, 4);
  return result + failures;
}

}  // namespace

std::vector<Json> records(const std::vector<Result>& results, const Setting& setting) {
  std::vector<Json> all;
  all.reserve(results.size());
  for (const Result& result : results) all.push_back(record(results, result, setting));
  return all;
}

std::string report(const std::vector<Result>& results, const Setting& setting, cli::Format format) {
  using cli::Format;
  const std::vector<Json> all = records(results, setting);
  std::string lines;
  switch (format) {
    case Format::csv:
      return cli::csv(all);
    case Format::json:
      return cli::dump(all, 1) + '\n';
    case Format::jsonl:
      for (const Json& fields : all) lines += cli::json_line("kernel", fields);
      return lines;
    case Format::sql:
      return cli::sql("skipstone_kernels", all);
    case Format::markdown:
      break;
  }
  return markdown(all, setting);
}

}  // namespace kbench
