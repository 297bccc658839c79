#include "report/lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/escape.h"
#include "json/json.h"

namespace cli::report {
namespace {

using skipstone::shortened;

/// A range that does not hold the median is none: records come from others.
Measured measured(double median, std::uint32_t repetitions, const RunRange& runs) {
  const bool sound = repetitions > 1 && runs.lowest && runs.highest && *runs.lowest <= median && median <= *runs.highest;
  return sound ? Measured{median, runs.lowest, runs.highest} : Measured{median};
}

MeasuredValue measured(const std::optional<Rate>& rate) {
  return rate ? MeasuredValue(measured(rate->tokens_per_second, rate->repetitions, rate->runs)) : std::nullopt;
}

}  // namespace

std::string Line::name() const { return shortened(device->name, most_name); }
std::string Line::label() const { return fmt::format("{} {}", number, name()); }

Value Measured::spread() const { return lowest && highest && median > 0 ? Value((*highest - *lowest) / median) : std::nullopt; }

MeasuredValue prompt_rate(const Shape& shape) { return measured(shape.prompt); }
MeasuredValue decode_rate(const Shape& shape) { return measured(shape.decode); }

MeasuredValue pass_time(const Shape& shape, std::uint32_t rows) {
  const auto pass = std::ranges::find(shape.passes, rows, &Pass::rows);
  return pass == shape.passes.end() ? std::nullopt : MeasuredValue(measured(pass->milliseconds, pass->repetitions, pass->runs));
}

MeasuredValue speedup(const Shape& shape, double acceptance) {
  if (!shape.speculation) return std::nullopt;
  const auto found = std::ranges::find(shape.speculation->speedups, acceptance, &Speedup::acceptance);
  return found == shape.speculation->speedups.end() ? std::nullopt
                                                    : MeasuredValue(measured(found->speedup, found->repetitions, found->runs));
}

Value pass_cost(const Shape& shape, std::uint32_t rows) {
  const MeasuredValue one = pass_time(shape, 1), all = pass_time(shape, rows);
  return one && all && one->median > 0 ? Value(all->median / one->median) : std::nullopt;
}

Value median_of(const MeasuredValue& measured) { return measured ? Value(measured->median) : std::nullopt; }
Value spread_of(const MeasuredValue& measured) { return measured ? measured->spread() : std::nullopt; }

std::vector<Value> medians(const ModelLines& model, MeasuredValue (*of)(const Shape&)) {
  std::vector<Value> values;
  values.reserve(model.lines.size());
  for (const ShapeLine& line : model.lines) values.push_back(median_of(of(*line.shape)));
  return values;
}

std::vector<Value> ratios(const std::vector<Value>& values) {
  const auto first = std::ranges::find_if(values, [](const Value& value) { return value && *value > 0; });
  std::vector<Value> result;
  result.reserve(values.size());
  for (const Value& value : values) result.push_back(value && first != values.end() ? Value(*value / **first) : std::nullopt);
  return result;
}

std::vector<Line> lines_of(const std::vector<Source>& sources, std::vector<std::string>& notes) {
  std::vector<Line> lines;
  std::vector<std::pair<Json, const Source*>> seen;
  for (const Source& source : sources) {
    Json document = to_json(source.record);
    const auto same = std::ranges::find(seen, document, &std::pair<Json, const Source*>::first);
    if (same != seen.end()) {
      notes.push_back(
          fmt::format("{} holds the same record as {}, and is left out.", shortened(source.name), shortened(same->second->name)));
      continue;
    }
    seen.emplace_back(std::move(document), &source);
    for (const Device& device : source.record.devices)
      lines.push_back({lines.size() + 1, &device, &source.record, &source.record.systems[device.host.value_or(0)]});
  }
  return lines;
}

std::vector<ModelLines> models_of(const std::vector<Line>& lines) {
  std::vector<std::pair<std::string_view, std::vector<ShapeLine>>> by_name;
  for (const Line& line : lines) {
    for (const Shape& shape : line.device->shapes) {
      auto model = std::ranges::find(by_name, shape.model, [](const auto& one) { return one.first; });
      if (model == by_name.end()) model = by_name.insert(model, {shape.model, {}});
      if (model->second.empty() || model->second.back().line != &line) model->second.push_back({&line, &shape});
    }
  }
  std::vector<ModelLines> models;
  models.reserve(by_name.size());
  for (auto& [name, of_model] : by_name) models.push_back({shortened(name, most_name), std::move(of_model)});
  return models;
}

const Line* first_with_text(const Line& line, const std::vector<Line>& lines) {
  const auto& exactness = line.device->exactness;
  if (!exactness) return nullptr;
  for (const Line& other : lines) {
    const auto& first = other.device->exactness;
    if (first && first->model == exactness->model && first->tokens == exactness->tokens) return &other;
  }
  return nullptr;
}

}  // namespace cli::report
