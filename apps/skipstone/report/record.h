// The record of devices that `report` writes and `compare` reads, for sharing. It has no name of a user, a host or a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "json/json_fwd.h"

namespace cli::report {

using skipstone::Json;

inline constexpr std::uint32_t schema_version = 2;         ///< docs/report.schema.json describes it
inline constexpr std::uint32_t oldest_schema_version = 1;  ///< that is read: it lacks the lowest and highest of the runs

/// A machine.
struct System {
  std::string os, processor;
  std::uint32_t cores = 0;
  std::uint64_t memory_bytes = 0;
};

/// The quick self-test.
struct Doctor {
  bool passed = false;
  bool complete = false;  ///< false: the time was over after `cases` cases
  std::uint64_t cases = 0, failures = 0, validation_messages = 0;
  std::optional<bool> floats_kept, halves_kept;  ///< whether denormal numbers are kept
};

/// Hashes of the same text, generated plainly and with drafts.
struct Exactness {
  std::string model, draft;
  std::uint32_t tokens = 0;
  std::uint64_t drafted = 0, accepted = 0;
  std::string plain, drafts;  ///< 16 hexadecimal digits
  bool equal = false;
};

/// The slowest and the fastest of several runs, in the unit of their median.
struct RunRange {
  std::optional<double> lowest = {}, highest = {};
};

struct Rate {
  std::uint32_t tokens = 0;
  double tokens_per_second = 0;
  std::uint32_t repetitions = 0;
  RunRange runs = {};
};

/// A pass that verifies `rows` rows.
struct Pass {
  std::uint32_t rows = 0;
  double milliseconds = 0;
  std::uint32_t repetitions = 0;
  RunRange runs = {};
};

/// Speed-up over plain decoding of generation whose drafts are accepted with a given probability.
struct Speedup {
  double acceptance = 0, speedup = 0;
  std::uint32_t repetitions = 0;
  RunRange runs = {};
};

struct Speculation {
  std::string draft;
  std::uint32_t tokens = 0;
  std::vector<Speedup> speedups;
};

/// A synthetic model.
struct Shape {
  std::string model;
  std::uint64_t parameters = 0, tensor_bytes = 0;
  std::optional<Rate> prompt, decode;
  std::vector<Pass> passes;
  std::optional<Speculation> speculation;
};

struct LeftOut {
  std::string what, why;
};

struct Device {
  std::optional<std::uint32_t> host;  ///< index of Record::systems, in merged records; none: the first
  std::uint32_t index = 0;
  std::string name, kind, tier, driver, driver_info, vulkan;
  std::uint32_t driver_version = 0, vendor_id = 0, device_id = 0;
  std::uint64_t memory_bytes = 0, shared_bytes = 0, storage_buffer_range = 0;
  std::uint32_t subgroup_size = 0, workgroup_invocations = 0;
  bool fp16 = false, int8 = false, storage16 = false, storage8 = false, unified_memory = false, timestamps = false;
  std::vector<std::string> quirks;
  std::string error;  ///< a sentence if it could not be measured
  std::optional<Doctor> doctor;
  std::optional<double> copy_bytes_per_second;
  std::optional<Exactness> exactness;
  std::vector<Shape> shapes;
  std::vector<LeftOut> left_out;
  double seconds = 0;  ///< total measuring time
};

struct Record {
  std::string date, version, commit;  ///< date: UTC, ISO 8601
  bool quick = false;
  std::vector<System> systems;
  std::vector<Device> devices;
};

Json to_json(const Record& record);

/// `text` as a record. `file` is the prefix of error messages. `text` is untrusted: throws bad_file that names the field if one is missing,
/// unknown, of another type, out of range or too long.
Record read_record(std::string_view text, const std::string& file);

/// The record of a file of at most 4 MiB.
Record read_record_file(const std::string& path);

/// Merges the records of one or more machines. Date and build are the first one's.
Record merged(std::vector<Record> parts);

/// Shortens a sentence for a record and removes the names of files and folders from it.
std::string shareable(std::string_view sentence);

}  // namespace cli::report
