// A comparison for programs.
#include <utility>

#include "base/escape.h"
#include "json/json.h"
#include "report/comparison.h"
#include "report/lines.h"
#include "results/formats.h"

namespace cli::report {
namespace {

using skipstone::shortened;

/// Adds what is known of several runs: the median under `name`, and of two or more runs their ends.
Json measured_json(Json fields, const char* name, const MeasuredValue& measured) {
  fields[name] = value_of(median_of(measured));
  fields["lowest"] = value_of(measured ? measured->lowest : std::nullopt);
  fields["highest"] = value_of(measured ? measured->highest : std::nullopt);
  fields["spread"] = value_of(spread_of(measured));
  return fields;
}

Json device_json(const Line& line, const std::vector<Line>& lines) {
  const Device& device = *line.device;
  const Line* first = first_with_text(line, lines);
  const bool same = first != nullptr && first->device->exactness->plain == device.exactness->plain;
  return {{"device", line.number},
          {"name", line.name()},
          {"kind", shortened(device.kind, most_name)},
          {"driver", shortened(device.driver, most_name)},
          {"driver_info", shortened(device.driver_info, most_name)},
          {"processor", shortened(line.system->processor, most_name)},
          {"version", shortened(line.record->version, most_name)},
          {"commit", shortened(line.record->commit, most_name)},
          {"quick", line.record->quick},
          {"error", shortened(device.error, most_sentence)},
          {"self_test_passed", device.doctor ? Json(device.doctor->passed) : Json(nullptr)},
          {"self_test_cases", device.doctor ? Json(device.doctor->cases) : Json(nullptr)},
          {"drafts_keep_text", device.exactness ? Json(device.exactness->equal) : Json(nullptr)},
          {"text_compared_with", first != nullptr ? Json(first->number) : Json(nullptr)},
          {"text_same", first != nullptr ? Json(same) : Json(nullptr)},
          {"copy_bytes_per_second", value_of(device.copy_bytes_per_second)}};
}

Json shape_json(const ShapeLine& line, Value prompt_ratio, Value decode_ratio) {
  const Shape& shape = *line.shape;
  Json passes = Json::array(), speedups = Json::array();
  for (const Pass& pass : shape.passes) {
    passes.push_back(measured_json({{"rows", pass.rows}}, "milliseconds", pass_time(shape, pass.rows)));
    passes.back()["to_one_row"] = value_of(pass_cost(shape, pass.rows));
  }
  for (const Speedup& one : shape.speculation ? shape.speculation->speedups : std::vector<Speedup>{})
    speedups.push_back(measured_json({{"acceptance", one.acceptance}}, "speedup", speedup(shape, one.acceptance)));
  Json prompt = measured_json(Json::object(), "tokens_per_second", prompt_rate(shape));
  Json decoding = measured_json(Json::object(), "tokens_per_second", decode_rate(shape));
  prompt["ratio"] = value_of(prompt_ratio);
  decoding["ratio"] = value_of(decode_ratio);
  return {{"device", line.line->number},
          {"prompt", std::move(prompt)},
          {"decoding", std::move(decoding)},
          {"passes", std::move(passes)},
          {"drafts", std::move(speedups)}};
}

Json model_json(const ModelLines& model) {
  const auto prompt_ratios = ratios(medians(model, prompt_rate)), decode_ratios = ratios(medians(model, decode_rate));
  Json devices = Json::array();
  for (std::size_t i = 0; i < model.lines.size(); ++i) devices.push_back(shape_json(model.lines[i], prompt_ratios[i], decode_ratios[i]));
  return {{"model", model.model}, {"devices", std::move(devices)}};
}

}  // namespace

Json comparison_json(const std::vector<Source>& sources) {
  const Comparison comparison = compare(sources);
  std::vector<std::string> said;
  const std::vector<Line> lines = lines_of(sources, said);
  Json devices = Json::array(), models = Json::array();
  for (const Line& line : lines) devices.push_back(device_json(line, lines));
  for (const ModelLines& model : models_of(lines)) models.push_back(model_json(model));
  return {{"conclusions", comparison.conclusions},
          {"warnings", comparison.warnings},
          {"notes", comparison.notes},
          {"devices", std::move(devices)},
          {"models", std::move(models)}};
}

}  // namespace cli::report
