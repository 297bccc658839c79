// The formats of results: tables in Markdown for people; CSV, JSON and SQL for programs; and the files that get them.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "json/json_fwd.h"

namespace cli {

using skipstone::Json;

enum class Format { markdown, csv, json, jsonl, sql };

/// "md, csv, json, jsonl and sql", and the format of such a name; throws Failure that lists them for others.
extern const char* const format_names;
Format format_of(const std::string& name);
/// Whether `name` is one of them.
bool is_format(const std::string& name);

/// Serializes as one line, or indented; invalid UTF-8 becomes U+FFFD (it may occur in file names and a model's metadata).
std::string dump(const Json& value, int indent = -1);

/// null for a value that there is not.
Json value_of(std::optional<double> number);

/// The shortest decimal that rounds to the value: 0.95 and not 0.949999988079071.
double shortest(float number);

/// A record is a flat JSON object; all of a result's have the same fields in the same order.
///
/// A header and a line each, quoted according to RFC 4180. null is an empty field; a list of numbers has blanks between them, one of
/// {"drafted", "accepted"} is "20/26 9/12": accepted of drafted.
std::string csv(std::span<const Json> records);

/// {"record": NAME} and the fields, a line.
std::string json_line(std::string_view record, const Json& fields);

/// CREATE TABLE IF NOT EXISTS and an INSERT for each, valid in SQLite and PostgreSQL. Lists are text as in CSV.
std::string sql(std::string_view table, std::span<const Json> records);

/// Escapes untrusted text for a cell, so that it ends neither the cell nor the line.
std::string cell(const std::string& text);

/// Columns padded to their width; the first `left` ones left-aligned, the others to the right. The first row is the header.
std::string grid(const std::vector<std::vector<std::string>>& rows, std::size_t left = 1);

/// Throws Failure if a result could not be written to `path`: to be called before hours of work. Leaves no file.
void check_writable(const std::string& path);

/// Writes a temporary file next to `path` and renames it, replacing an earlier file. Throws Failure with the reason, and then leaves no
/// temporary file and keeps the earlier file.
void write_file(const std::string& path, std::string_view content);

}  // namespace cli
