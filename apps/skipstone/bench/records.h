// Flat records in the formats for programs. A record is a JSON object; all of a result's have the same fields in the same order.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "json/json_fwd.h"

namespace cli::bench {

using skipstone::Json;

enum class Format { markdown, csv, json, jsonl, sql };

/// "md, csv, json, jsonl and sql", and the format of such a name; throws Failure that lists them for others.
extern const char* const format_names;
Format format_of(const std::string& name);
/// Whether `name` is one of them.
bool is_format(const std::string& name);

/// Serializes as one line, or indented; invalid UTF-8 becomes U+FFFD (it may occur in file names and a model's metadata).
std::string dump(const Json& value, int indent = -1);

/// The shortest decimal that rounds to the value: 0.95 and not 0.949999988079071.
double shortest(float number);

/// A header and a line each, quoted according to RFC 4180. null is an empty field; a list of numbers has blanks between them, one of
/// {"drafted", "accepted"} is "20/26 9/12": accepted of drafted.
std::string csv(std::span<const Json> records);

/// {"record": NAME} and the fields, a line.
std::string json_line(std::string_view record, const Json& fields);

/// CREATE TABLE IF NOT EXISTS and an INSERT for each, valid in SQLite and PostgreSQL. Lists are text as in CSV.
std::string sql(std::string_view table, std::span<const Json> records);

}  // namespace cli::bench
