#include "report/comparison.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <set>
#include <utility>

#include "base/escape.h"
#include "report/conclusion.h"
#include "report/lines.h"
#include "results/fitted_grid.h"
#include "results/formats.h"
#include "results/picture.h"
#include "terminal/wrap.h"

namespace cli::report {
namespace {

using Row = std::vector<std::string>;
using skipstone::shortened;

constexpr std::size_t most_repeated = 20;  // characters of a name

std::string number(Value value, int digits) { return value ? fmt::format("{:.{}f}", *value, digits) : "-"; }
std::string rate(Value value) { return value ? value_text(*value) : "-"; }
std::string share(Value value) { return value ? fmt::format("{:.0f} %", 100 * *value) : "-"; }

std::string program(const Record& record) { return fmt::format("{} ({})", shortened(record.version, 20), shortened(record.commit, 20)); }

void note_differences(const std::vector<Line>& lines, std::vector<std::string>& notes) {
  std::set<std::string> programs;
  for (const Line& line : lines) programs.insert(program(*line.record));
  if (programs.size() > 1) {
    notes.push_back(fmt::format("The records are of {} builds of skipstone, whose speeds and texts may differ for that alone: {}.",
                                programs.size(), shortened(fmt::format("{}", fmt::join(programs, ", ")), most_sentence)));
  }
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

std::string drafts_text(const Device& device) {
  if (!device.exactness) return "-";
  return device.exactness->equal ? "same text" : "OTHER TEXT";
}

std::string text_text(const Line& line, const std::vector<Line>& lines) {
  const Line* first = first_with_text(line, lines);
  if (first == nullptr) return "-";
  const bool same = first->device->exactness->plain == line.device->exactness->plain;
  return fmt::format("{} {}", same ? "text of" : "not that of", first->number);
}

Table device_table(const std::vector<Line>& lines) {
  Table table{"Devices", 4, {{"", "device", "driver", "processor"}}};
  for (const Line& line : lines) {
    const Device& device = *line.device;
    table.rows.push_back({std::to_string(line.number), line.name(),
                          shortened(device.driver + (device.driver_info.empty() ? "" : " ") + device.driver_info, most_name),
                          shortened(line.system->processor, most_name)});
  }
  return table;
}

Table check_table(const std::vector<Line>& lines) {
  Table table{"Self-test, texts and copies in memory", 5, {{"", "device", "self-test", "drafts", "text", "GB/s", "ratio"}}};
  std::vector<Value> copies;
  copies.reserve(lines.size());
  for (const Line& line : lines) copies.push_back(line.device->copy_bytes_per_second);
  const std::vector<Value> of_first = ratios(copies);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const Device& device = *lines[i].device;
    table.rows.push_back({std::to_string(lines[i].number), lines[i].name(), doctor_text(device), drafts_text(device),
                          text_text(lines[i], lines), copies[i] ? rate(*copies[i] * 1e-9) : "-", number(of_first[i], 2)});
  }
  return table;
}

/// A row for each device; `columns` appends what follows its name.
template <typename Columns>
Table model_table(std::string caption, Row header, const ModelLines& model, Columns columns) {
  Table table{std::move(caption), 2, {}};
  header.insert(header.begin(), {"", "device"});
  table.rows.push_back(std::move(header));
  for (std::size_t i = 0; i < model.lines.size(); ++i) {
    Row row = {std::to_string(model.lines[i].line->number), model.lines[i].line->name()};
    columns(row, i);
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table speed_table(const ModelLines& model) {
  const std::vector<Value> prompts = medians(model, prompt_rate), decoding = medians(model, decode_rate);
  const auto prompt_ratios = ratios(prompts), decode_ratios = ratios(decoding);
  return model_table(model.model + ": tokens per second", {"prompt", "spread", "ratio", "decoding", "spread", "ratio"}, model,
                     [&](Row& row, std::size_t i) {
                       const Shape& shape = *model.lines[i].shape;
                       row.insert(row.end(), {rate(prompts[i]), share(spread_of(prompt_rate(shape))), number(prompt_ratios[i], 2),
                                              rate(decoding[i]), share(spread_of(decode_rate(shape))), number(decode_ratios[i], 2)});
                     });
}

Table pass_table(const ModelLines& model) {
  Row header = {"1 row ms", "spread"};
  for (const std::uint32_t rows : shown_rows) header.push_back(fmt::format("{} rows", rows));
  return model_table(model.model + ": a pass of n rows, in passes of one row", std::move(header), model, [&](Row& row, std::size_t i) {
    const MeasuredValue one = pass_time(*model.lines[i].shape, 1);
    row.insert(row.end(), {rate(median_of(one)), share(spread_of(one))});
    for (const std::uint32_t rows : shown_rows) row.push_back(number(pass_cost(*model.lines[i].shape, rows), 2));
  });
}

Table draft_table(const ModelLines& model) {
  Row header;
  for (const double acceptance : shown_acceptances) header.insert(header.end(), {fmt::format("at {:g}", acceptance), "spread"});
  return model_table(model.model + ": speed-up of drafts, by the probability that one is accepted", std::move(header), model,
                     [&](Row& row, std::size_t i) {
                       for (const double acceptance : shown_acceptances) {
                         const MeasuredValue gain = speedup(*model.lines[i].shape, acceptance);
                         row.insert(row.end(), {number(median_of(gain), 2), share(spread_of(gain))});
                       }
                     });
}

using Values = std::function<std::vector<MeasuredValue>(const Shape&)>;

Bar bar_of(const MeasuredValue& measured) {
  return measured ? Bar{measured->median, measured->lowest.value_or(NAN), measured->highest.value_or(NAN)} : Bar{};
}

/// Adds the panel if any device has a number.
void add_panel(std::vector<Panel>& panels, Panel panel, const std::vector<ShapeLine>& lines, const Values& values_of) {
  bool some = false;
  for (const ShapeLine& line : lines) {
    BarGroup group{line.line->label(), {}};
    for (const MeasuredValue& value : values_of(*line.shape)) {
      group.bars.push_back(bar_of(value));
      some = some || value;
    }
    panel.groups.push_back(std::move(group));
  }
  if (some) panels.push_back(std::move(panel));
}

void add_model_panels(std::vector<Panel>& panels, const ModelLines& model) {
  const std::vector<ShapeLine>& lines = model.lines;
  add_panel(panels, {model.model + ": prompt", "tokens per second", {""}, {}, 0}, lines,
            [](const Shape& shape) { return std::vector{prompt_rate(shape)}; });
  add_panel(panels, {model.model + ": decoding", "tokens per second", {""}, {}, 0}, lines,
            [](const Shape& shape) { return std::vector{decode_rate(shape)}; });
  Panel passes{model.model + ": a pass of n rows", "time, in passes of one row", {}, {}, 1};
  for (const std::uint32_t rows : shown_rows) passes.series.push_back(fmt::format("{} rows", rows));
  add_panel(panels, std::move(passes), lines, [](const Shape& shape) {
    std::vector<MeasuredValue> values;
    values.reserve(shown_rows.size());
    for (const std::uint32_t rows : shown_rows) {
      const Value cost = pass_cost(shape, rows);
      values.push_back(cost ? MeasuredValue(Measured{*cost}) : std::nullopt);
    }
    return values;
  });
  Panel speedups{model.model + ": speed-up of drafts, by the probability that one is accepted", "times plain decoding", {}, {}, 1};
  for (const double acceptance : shown_acceptances) speedups.series.push_back(fmt::format("{:g}", acceptance));
  add_panel(panels, std::move(speedups), lines, [](const Shape& shape) {
    std::vector<MeasuredValue> values;
    values.reserve(shown_acceptances.size());
    for (const double acceptance : shown_acceptances) values.push_back(speedup(shape, acceptance));
    return values;
  });
}

void add_copy_panel(std::vector<Panel>& panels, const std::vector<Line>& lines) {
  Panel panel{"Copies in the device's memory", "GB/s, read and written", {""}, {}, 0};
  for (const Line& line : lines) {
    if (const auto bandwidth = line.device->copy_bytes_per_second) panel.groups.push_back({line.label(), {{*bandwidth * 1e-9}}});
  }
  if (!panel.groups.empty()) panels.push_back(std::move(panel));
}

}  // namespace

Comparison compare(const std::vector<Source>& sources) {
  Comparison comparison;
  const std::vector<Line> lines = lines_of(sources, comparison.notes);
  note_differences(lines, comparison.notes);
  note_devices(lines, comparison.notes);
  comparison.tables = {device_table(lines), check_table(lines)};
  add_copy_panel(comparison.panels, lines);
  const std::vector<ModelLines> models = models_of(lines);
  for (const ModelLines& model : models) {
    for (const auto& table : {speed_table, pass_table, draft_table}) comparison.tables.push_back(table(model));
    add_model_panels(comparison.panels, model);
  }
  comparison.conclusions = conclusions(lines, models);
  comparison.warnings = noise_warnings(models);
  return comparison;
}

std::string comparison_text(const Comparison& comparison, std::size_t width) {
  std::string text;
  for (const std::string& sentence : comparison.conclusions) text += wrap(sentence, width, 0, 0) + "\n";
  for (const std::string& sentence : comparison.warnings) text += "\n" + wrap("Warning: " + sentence, width, 0, 0) + "\n";
  for (const Table& table : comparison.tables) {
    std::vector<Row> rows = table.rows;
    for (Row& row : rows) {
      std::ranges::transform(row, row.begin(), cell);
      if (&table != &comparison.tables.front()) row[1] = cut(row[1], most_repeated);  // the first table has the whole name
    }
    text += fmt::format("\n{}\n\n{}", wrap(table.caption, width, 0, 0), fitted_grid(rows, {table.left, 2}, width));
  }
  if (!comparison.notes.empty()) text += '\n';
  for (const std::string& sentence : comparison.notes) text += wrap("- " + sentence, width, 0, 2) + "\n";
  return text;
}

}  // namespace cli::report
