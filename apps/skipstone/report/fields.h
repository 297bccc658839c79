// The fields of a record's parts, by name: one list for both the writer and the reader.
#pragma once

#include "report/record.h"

namespace cli::report {

template <typename Archive>
void fields(Archive& archive, System& s) {
  archive("os", s.os);
  archive("processor", s.processor);
  archive("cores", s.cores);
  archive("memory_bytes", s.memory_bytes);
}

template <typename Archive>
void fields(Archive& archive, Doctor& d) {
  archive("passed", d.passed);
  archive("complete", d.complete);
  archive("cases", d.cases);
  archive("failures", d.failures);
  archive("validation_messages", d.validation_messages);
  archive("floats_kept", d.floats_kept);
  archive("halves_kept", d.halves_kept);
}

template <typename Archive>
void fields(Archive& archive, Exactness& e) {
  archive("model", e.model);
  archive("draft", e.draft);
  archive("tokens", e.tokens);
  archive("drafted", e.drafted);
  archive("accepted", e.accepted);
  archive.hash("plain", e.plain);
  archive.hash("drafts", e.drafts);
  archive("equal", e.equal);
}

template <typename Archive>
void run_fields(Archive& archive, std::uint32_t& repetitions, RunRange& runs) {
  archive("repetitions", repetitions);
  archive.may_lack("lowest", runs.lowest);
  archive.may_lack("highest", runs.highest);
}

template <typename Archive>
void fields(Archive& archive, Rate& r) {
  archive("tokens", r.tokens);
  archive("tokens_per_second", r.tokens_per_second);
  run_fields(archive, r.repetitions, r.runs);
}

template <typename Archive>
void fields(Archive& archive, Pass& p) {
  archive("rows", p.rows);
  archive("milliseconds", p.milliseconds);
  run_fields(archive, p.repetitions, p.runs);
}

template <typename Archive>
void fields(Archive& archive, Speedup& s) {
  archive("acceptance", s.acceptance);
  archive("speedup", s.speedup);
  run_fields(archive, s.repetitions, s.runs);
}

template <typename Archive>
void fields(Archive& archive, Speculation& s) {
  archive("draft", s.draft);
  archive("tokens", s.tokens);
  archive("speedups", s.speedups);
}

template <typename Archive>
void fields(Archive& archive, Shape& s) {
  archive("model", s.model);
  archive("parameters", s.parameters);
  archive("tensor_bytes", s.tensor_bytes);
  archive("prompt", s.prompt);
  archive("decode", s.decode);
  archive("passes", s.passes);
  archive("speculation", s.speculation);
}

template <typename Archive>
void fields(Archive& archive, LeftOut& l) {
  archive("what", l.what);
  archive("why", l.why);
}

template <typename Archive>
void fields(Archive& archive, Device& d) {
  archive.may_lack("host", d.host);
  archive("index", d.index);
  archive("name", d.name);
  archive("kind", d.kind);
  archive("tier", d.tier);
  archive("driver", d.driver);
  archive("driver_info", d.driver_info);
  archive("driver_version", d.driver_version);
  archive("vulkan", d.vulkan);
  archive("vendor_id", d.vendor_id);
  archive("device_id", d.device_id);
  archive("memory_bytes", d.memory_bytes);
  archive("shared_bytes", d.shared_bytes);
  archive("storage_buffer_range", d.storage_buffer_range);
  archive("subgroup_size", d.subgroup_size);
  archive("workgroup_invocations", d.workgroup_invocations);
  archive("fp16", d.fp16);
  archive("int8", d.int8);
  archive("storage16", d.storage16);
  archive("storage8", d.storage8);
  archive("unified_memory", d.unified_memory);
  archive("timestamps", d.timestamps);
  archive("quirks", d.quirks);
  archive("error", d.error);
  archive("doctor", d.doctor);
  archive("copy_bytes_per_second", d.copy_bytes_per_second);
  archive("exactness", d.exactness);
  archive("shapes", d.shapes);
  archive("left_out", d.left_out);
  archive("seconds", d.seconds);
}

template <typename Archive>
void fields(Archive& archive, Record& r) {
  archive("date", r.date);
  archive("version", r.version);
  archive("commit", r.commit);
  archive("quick", r.quick);
  archive("systems", r.systems);
  archive("devices", r.devices);
}

}  // namespace cli::report
