#include "results/formats.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <span>
#include <vector>

#include "base/escape.h"
#include "base/output_file.h"
#include "base/status.h"
#include "json/json.h"
#include "terminal/exit_code.h"

namespace cli {
namespace {

const std::map<std::string, Format> formats = {
    {"md", Format::markdown}, {"csv", Format::csv}, {"json", Format::json}, {"jsonl", Format::jsonl}, {"sql", Format::sql}};

/// A list as text for a table's field.
std::string list_text(const Json& list) {
  std::string text;
  for (const Json& item : list) {
    if (!text.empty()) text += ' ';
    text +=
        item.is_object() ? fmt::format("{}/{}", item["accepted"].get<std::uint64_t>(), item["drafted"].get<std::uint64_t>()) : dump(item);
  }
  return text;
}

std::string doubled(const std::string& text, char quote) {
  std::string escaped(1, quote);
  for (const char c : text) escaped.append(c == quote ? 2 : 1, c);
  return escaped + quote;
}

/// A string with invalid UTF-8 replaced.
std::string valid_text(const Json& value) { return Json::parse(dump(value)).get<std::string>(); }

std::string csv_field(const Json& value) {
  if (value.is_null()) return "";
  if (value.is_array()) return list_text(value);
  if (!value.is_string()) return dump(value);
  const std::string text = valid_text(value);
  return text.find_first_of(",\"\r\n") == std::string::npos ? text : doubled(text, '"');
}

const char* sql_type(std::span<const Json> records, const std::string& name) {
  const char* type = "INTEGER";
  for (const Json& record : records) {
    const Json& value = record[name];
    if (value.is_string() || value.is_array()) return "TEXT";
    if (value.is_number_float()) type = "REAL";
  }
  return type;
}

std::string sql_value(const Json& value) {
  if (value.is_null()) return "NULL";
  if (value.is_boolean()) return value.get<bool>() ? "1" : "0";
  if (value.is_number()) return dump(value);
  return doubled(value.is_array() ? list_text(value) : valid_text(value), '\'');
}

std::vector<std::string> names_of(const Json& record) {
  std::vector<std::string> names;
  for (const auto& [name, value] : record.items()) names.push_back(name);
  return names;
}

template <typename Action>
void with_failures(Action action) {
  try {
    action();
  } catch (const skipstone::Error& error) {
    fail(ExitCode::failure, "{}", error.what());
  }
}

}  // namespace

const char* const format_names = "md, csv, json, jsonl and sql";

bool is_format(const std::string& name) { return formats.count(name) == 1; }

Format format_of(const std::string& name) {
  if (!is_format(name)) fail(ExitCode::usage, "there is no format '{}'; there are {}", name, format_names);
  return formats.at(name);
}

std::string dump(const Json& value, int indent) { return value.dump(indent, ' ', false, Json::error_handler_t::replace); }

Json value_of(std::optional<double> number) { return number ? Json(*number) : Json(nullptr); }

double shortest(float number) { return std::stod(fmt::to_string(number)); }

std::string csv(std::span<const Json> records) {
  if (records.empty()) return "";
  std::string text = fmt::format("{}\n", fmt::join(names_of(records.front()), ","));
  for (const Json& record : records) {
    std::vector<std::string> values;
    for (const auto& [name, value] : record.items()) values.push_back(csv_field(value));
    text += fmt::format("{}\n", fmt::join(values, ","));
  }
  return text;
}

std::string json_line(std::string_view record, const Json& fields) {
  Json line = {{"record", record}};
  line.update(fields);
  return dump(line) + '\n';
}

std::string sql(std::string_view table, std::span<const Json> records) {
  if (records.empty()) return "";
  const std::vector<std::string> names = names_of(records.front());
  std::vector<std::string> columns, quoted;  // "commit" is an SQL keyword
  for (const std::string& name : names) {
    quoted.push_back(doubled(name, '"'));
    columns.push_back(fmt::format("  {} {}", quoted.back(), sql_type(records, name)));
  }
  std::string text = fmt::format("CREATE TABLE IF NOT EXISTS {} (\n{}\n);\n", table, fmt::join(columns, ",\n"));
  for (const Json& record : records) {
    std::vector<std::string> values;
    for (const auto& [name, value] : record.items()) values.push_back(sql_value(value));
    text += fmt::format("INSERT INTO {} ({}) VALUES ({});\n", table, fmt::join(quoted, ", "), fmt::join(values, ", "));
  }
  return text;
}

std::string cell(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    if (c == '|') safe += '\\';
    safe += c == '\n' || c == '\r' ? ' ' : c;
  }
  return safe;
}

std::string grid(const std::vector<std::vector<std::string>>& rows, std::size_t left) {
  std::vector<std::size_t> widths(rows.front().size(), 3);
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], skipstone::characters(row[i]));
  }
  std::string text;
  for (const auto& row : rows) {
    text += '|';
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string padding(widths[i] - skipstone::characters(row[i]), ' ');
      text += i < left ? fmt::format(" {}{} |", row[i], padding) : fmt::format(" {}{} |", padding, row[i]);
    }
    text += '\n';
    if (&row != &rows.front()) continue;
    text += '|';
    for (std::size_t i = 0; i < row.size(); ++i)
      text += fmt::format(" {:-<{}}{} |", "", widths[i] - (i < left ? 0 : 1), i < left ? "" : ":");
    text += '\n';
  }
  return text;
}

void check_writable(const std::string& path) {
  with_failures([&] { const skipstone::OutputFile file(path); });
}

void write_file(const std::string& path, std::string_view content) {
  with_failures([&] { skipstone::write_whole_file(path, std::as_bytes(std::span(content))); });
}

}  // namespace cli
