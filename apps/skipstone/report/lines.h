// The devices of several records, numbered, and the numbers of theirs that are compared.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "report/comparison.h"
#include "report/record.h"

namespace cli::report {

inline constexpr std::size_t most_name = 48, most_sentence = 240;  ///< bytes of a name or a sentence of a record that are printed
inline constexpr std::array<std::uint32_t, 5> shown_rows = {2, 4, 8, 16, 32};
inline constexpr std::array<double, 3> shown_acceptances = {0.5, 0.8, 1.0};

struct Line {
  std::size_t number = 0;
  const Device* device = nullptr;
  const Record* record = nullptr;
  const System* system = nullptr;

  std::string name() const;
  std::string label() const;  ///< number and name
};

struct ShapeLine {
  const Line* line = nullptr;
  const Shape* shape = nullptr;
};

/// A model and the devices that ran it.
struct ModelLines {
  std::string model;  ///< safe to print
  std::vector<ShapeLine> lines;
};

using Value = std::optional<double>;

/// The median of several runs, and the lowest and highest of them where there are two or more and the record has them.
struct Measured {
  double median = 0;
  Value lowest = {}, highest = {};

  /// What lies between lowest and highest, divided by the median.
  Value spread() const;
};

using MeasuredValue = std::optional<Measured>;

MeasuredValue prompt_rate(const Shape& shape);
MeasuredValue decode_rate(const Shape& shape);
/// Milliseconds of a pass.
MeasuredValue pass_time(const Shape& shape, std::uint32_t rows);
MeasuredValue speedup(const Shape& shape, double acceptance);
/// The time of a pass over `rows` rows relative to that of one row.
Value pass_cost(const Shape& shape, std::uint32_t rows);

Value median_of(const MeasuredValue& measured);
Value spread_of(const MeasuredValue& measured);
/// Of a number of each device that ran the model.
std::vector<Value> medians(const ModelLines& model, MeasuredValue (*of)(const Shape&));
/// Ratios of all values to the first one that is present.
std::vector<Value> ratios(const std::vector<Value>& values);

/// A record that is given twice counts once, which `notes` then say. The lines point into `sources`.
std::vector<Line> lines_of(const std::vector<Source>& sources, std::vector<std::string>& notes);
/// By model, in the order in which the models appear. They point into `lines`.
std::vector<ModelLines> models_of(const std::vector<Line>& lines);
/// The first device with a text of the same model and length, which may be the line itself; nullptr of a device without a text.
const Line* first_with_text(const Line& line, const std::vector<Line>& lines);

}  // namespace cli::report
