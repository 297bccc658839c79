#include "report/comparison.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <optional>
#include <set>
#include <utility>

#include "base/escape.h"
#include "json/json.h"
#include "results/formats.h"

namespace cli::report {
namespace {

using Row = std::vector<std::string>;
using skipstone::shortened;

constexpr std::size_t most_name = 48, most_sentence = 240;

struct Line {
  std::size_t number = 0;
  const Device* device = nullptr;
  const Record* record = nullptr;
  const System* system = nullptr;

  std::string name() const { return shortened(device->name, most_name); }
  std::string label() const { return fmt::format("{} {}", number, name()); }
};

struct ShapeLine {
  const Line* line = nullptr;
  const Shape* shape = nullptr;
};

using Value = std::optional<double>;

std::string number(Value value, int digits) { return value ? fmt::format("{:.{}f}", *value, digits) : "-"; }

/// Formats a rate; small numbers get more digits.
std::string rate(Value value) { return number(value, value && *value < 10 ? 2 : 1); }

/// Ratios of all values to the first one that is present.
std::vector<std::string> ratios(const std::vector<Value>& values) {
  const auto first = std::ranges::find_if(values, [](const Value& value) { return value && *value > 0; });
  std::vector<std::string> texts;
  texts.reserve(values.size());
  for (const Value& value : values) texts.push_back(value && first != values.end() ? fmt::format("{:.2f}", *value / **first) : "-");
  return texts;
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

std::string program(const Record& record) { return fmt::format("{} ({})", shortened(record.version, 20), shortened(record.commit, 20)); }

void note_differences(const std::vector<Line>& lines, std::vector<std::string>& notes) {
  std::set<std::string> programs;
  std::set<bool> quick;
  for (const Line& line : lines) {
    programs.insert(program(*line.record));
    quick.insert(line.record->quick);
  }
  if (programs.size() > 1) {
    notes.push_back(fmt::format("The records are of {} builds of skipstone, whose speeds and texts may differ for that alone: {}.",
                                programs.size(), shortened(fmt::format("{}", fmt::join(programs, ", ")), most_sentence)));
  }
  if (quick.contains(true)) notes.emplace_back("Numbers of a quick report (--quick) are only to show that it runs.");
}

void note_devices(const std::vector<Line>& lines, std::vector<std::string>& notes) {
  for (const Line& line : lines) {
    const Device& device = *line.device;
    if (!device.error.empty()) notes.push_back(fmt::format("{}: not measured: {}", line.label(), shortened(device.error, most_sentence)));
    for (const LeftOut& left : device.left_out) {
      notes.push_back(
          fmt::format("{}: left out: {}: {}", line.label(), shortened(left.what, most_name), shortened(left.why, most_sentence)));
    }
    for (const std::string& quirk : device.quirks)
      notes.push_back(fmt::format("{}: quirk: {}", line.label(), shortened(quirk, most_sentence)));
  }
}

std::string doctor_text(const Device& device) {
  if (!device.doctor) return "-";
  const Doctor& doctor = *device.doctor;
  if (doctor.failures > 0) return fmt::format("FAILED ({} of {})", doctor.failures, doctor.cases);
  if (!doctor.passed) return "FAILED (validation)";
  return doctor.complete ? "passed" : fmt::format("passed ({} cases)", doctor.cases);
}

/// Compares a device's text with that of the first device with the same model, length and drafts.
std::string text_text(const Line& line, const std::vector<Line>& lines) {
  const auto& exactness = line.device->exactness;
  if (!exactness) return "-";
  for (const Line& other : lines) {
    const auto& first = other.device->exactness;
    if (!first || first->model != exactness->model || first->tokens != exactness->tokens) continue;
    if (&other == &line) return fmt::format("text of {}", line.number);
    return first->plain == exactness->plain ? fmt::format("text of {}", other.number) : fmt::format("not that of {}", other.number);
  }
  return "-";
}

Table device_table(const std::vector<Line>& lines) {
  Table table{"Devices. drafts: whether they leave the text as it is; text: whose text the same seed generates", 7, {}};
  table.rows.push_back({"", "device", "driver", "processor", "self-test", "drafts", "text", "copies GB/s", "of first"});
  std::vector<Value> copies;
  copies.reserve(lines.size());
  for (const Line& line : lines) copies.push_back(line.device->copy_bytes_per_second);
  const std::vector<std::string> of_first = ratios(copies);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const Device& device = *lines[i].device;
    const auto& exactness = device.exactness;
    table.rows.push_back({std::to_string(lines[i].number), lines[i].name(),
                          shortened(device.driver + (device.driver_info.empty() ? "" : " ") + device.driver_info, most_name),
                          shortened(lines[i].system->processor, most_name), doctor_text(device),
                          !exactness         ? "-"
                          : exactness->equal ? "same text"
                                             : "OTHER TEXT",
                          text_text(lines[i], lines), copies[i] ? rate(*copies[i] * 1e-9) : "-", of_first[i]});
  }
  return table;
}

Value prompt_rate(const Shape& shape) { return shape.prompt ? Value(shape.prompt->tokens_per_second) : std::nullopt; }
Value decode_rate(const Shape& shape) { return shape.decode ? Value(shape.decode->tokens_per_second) : std::nullopt; }

Value pass_time(const Shape& shape, std::uint32_t rows) {
  const auto pass = std::ranges::find(shape.passes, rows, &Pass::rows);
  return pass == shape.passes.end() ? std::nullopt : Value(pass->milliseconds);
}

/// The time of a pass over `rows` rows relative to that of one row.
Value pass_cost(const Shape& shape, std::uint32_t rows) {
  const Value one = pass_time(shape, 1), all = pass_time(shape, rows);
  return one && all && *one > 0 ? Value(*all / *one) : std::nullopt;
}

Value speedup(const Shape& shape, double acceptance) {
  if (!shape.speculation) return std::nullopt;
  const auto found = std::ranges::find(shape.speculation->speedups, acceptance, &Speedup::acceptance);
  return found == shape.speculation->speedups.end() ? std::nullopt : Value(found->speedup);
}

constexpr std::array<std::uint32_t, 5> shown_rows = {2, 4, 8, 16, 32};
constexpr std::array<double, 3> shown_acceptances = {0.5, 0.8, 1.0};

Table shape_table(const std::string& model, const std::vector<ShapeLine>& lines) {
  Table table{
      fmt::format(
          "{}: tokens per second; time of a pass of n rows, divided by that of one row; speed-up of drafts, by the share that is accepted",
          shortened(model, most_name)),
      2,
      {}};
  Row header = {"", "device", "prompt", "of first", "decoding", "of first", "1 row ms"};
  for (const std::uint32_t rows : shown_rows) header.push_back(fmt::format("{} rows", rows));
  for (const double acceptance : shown_acceptances) header.push_back(fmt::format("at {:g}", acceptance));
  table.rows.push_back(std::move(header));
  std::vector<Value> prompts, decoding;
  for (const ShapeLine& line : lines) {
    prompts.push_back(prompt_rate(*line.shape));
    decoding.push_back(decode_rate(*line.shape));
  }
  const auto prompt_ratios = ratios(prompts), decode_ratios = ratios(decoding);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const Shape& shape = *lines[i].shape;
    Row row = {std::to_string(lines[i].line->number),
               lines[i].line->name(),
               rate(prompts[i]),
               prompt_ratios[i],
               rate(decoding[i]),
               decode_ratios[i],
               rate(pass_time(shape, 1))};
    for (const std::uint32_t rows : shown_rows) row.push_back(number(pass_cost(shape, rows), 2));
    for (const double acceptance : shown_acceptances) row.push_back(number(speedup(shape, acceptance), 2));
    table.rows.push_back(std::move(row));
  }
  return table;
}

using Values = std::function<std::vector<Value>(const Shape&)>;

/// Adds the panel if any device has a number.
void add_panel(std::vector<Panel>& panels, Panel panel, const std::vector<ShapeLine>& lines, const Values& values_of) {
  bool some = false;
  for (const ShapeLine& line : lines) {
    BarGroup group{line.line->label(), {}};
    for (const Value& value : values_of(*line.shape)) {
      group.values.push_back(value.value_or(NAN));
      some = some || value;
    }
    panel.groups.push_back(std::move(group));
  }
  if (some) panels.push_back(std::move(panel));
}

void add_shape_panels(std::vector<Panel>& panels, const std::string& model, const std::vector<ShapeLine>& lines) {
  const std::string name = shortened(model, most_name);
  add_panel(panels, {name + ": prompt", "tokens per second", {""}, {}, 0}, lines,
            [](const Shape& shape) { return std::vector{prompt_rate(shape)}; });
  add_panel(panels, {name + ": decoding", "tokens per second", {""}, {}, 0}, lines,
            [](const Shape& shape) { return std::vector{decode_rate(shape)}; });
  Panel passes{name + ": a pass of n rows", "times a pass of one row", {}, {}, 1};
  for (const std::uint32_t rows : shown_rows) passes.series.push_back(fmt::format("{} rows", rows));
  add_panel(panels, std::move(passes), lines, [](const Shape& shape) {
    std::vector<Value> values;
    values.reserve(shown_rows.size());
    for (const std::uint32_t rows : shown_rows) values.push_back(pass_cost(shape, rows));
    return values;
  });
  Panel speedups{name + ": speed-up of drafts by the share that is accepted", "times plain decoding", {}, {}, 1};
  for (const double acceptance : shown_acceptances) speedups.series.push_back(fmt::format("{:.0f} %", 100 * acceptance));
  add_panel(panels, std::move(speedups), lines, [](const Shape& shape) {
    std::vector<Value> values;
    values.reserve(shown_acceptances.size());
    for (const double acceptance : shown_acceptances) values.push_back(speedup(shape, acceptance));
    return values;
  });
}

void add_copy_panel(std::vector<Panel>& panels, const std::vector<Line>& lines) {
  Panel panel{"Copies in the device's memory", "GB/s, read and written", {""}, {}, 0};
  for (const Line& line : lines) {
    if (const auto bandwidth = line.device->copy_bytes_per_second) panel.groups.push_back({line.label(), {*bandwidth * 1e-9}});
  }
  if (!panel.groups.empty()) panels.push_back(std::move(panel));
}

}  // namespace

Comparison compare(const std::vector<Source>& sources) {
  Comparison comparison;
  const std::vector<Line> lines = lines_of(sources, comparison.notes);
  note_differences(lines, comparison.notes);
  note_devices(lines, comparison.notes);
  comparison.tables.push_back(device_table(lines));
  add_copy_panel(comparison.panels, lines);
  std::vector<std::string> models;
  for (const Line& line : lines) {
    for (const Shape& shape : line.device->shapes) {
      if (std::ranges::find(models, shape.model) == models.end()) models.push_back(shape.model);
    }
  }
  for (const std::string& model : models) {
    std::vector<ShapeLine> of_model;
    for (const Line& line : lines) {
      const auto shape = std::ranges::find(line.device->shapes, model, &Shape::model);
      if (shape != line.device->shapes.end()) of_model.push_back({&line, &*shape});
    }
    comparison.tables.push_back(shape_table(model, of_model));
    add_shape_panels(comparison.panels, model, of_model);
  }
  return comparison;
}

std::string comparison_text(const Comparison& comparison) {
  std::string text;
  for (const Table& table : comparison.tables) {
    std::vector<Row> rows = table.rows;
    for (Row& row : rows) std::ranges::transform(row, row.begin(), cell);
    text += fmt::format("{}{}\n\n{}", text.empty() ? "" : "\n", table.caption, grid(rows, table.left));
  }
  if (!comparison.notes.empty()) text += '\n';
  for (const std::string& note : comparison.notes) text += fmt::format("- {}\n", note);
  return text;
}

}  // namespace cli::report
