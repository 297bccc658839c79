#include <array>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "base/escape.h"
#include "base/status.h"
#include "fixtures/temporary_directory.h"
#include "fixtures/tiny_checkpoint.h"
#include "fuzz/readers.h"
#include "json/json.h"
#include "json/parse_json.h"
#include "prompts/prompts.h"
#include "speculation/search/journal.h"
#include "speculation/search/profile.h"
#include "terminal/exit_code.h"
#include "tune/measurement_file.h"

namespace skipstone::fuzz {
namespace {

namespace search = speculation::search;

constexpr std::uint32_t layers = 12;

// ---- profiles and states of searches

search::Profile example_profile() {
  search::Profile profile;
  profile.model_name = "a model";
  profile.fingerprint = "0123456789abcdef";
  profile.layers = layers;
  profile.skip_set = "attn:3,5-7;mlp:9";
  profile.expected = {2.5, 1.75, 0.8, 1.31};
  profile.measured = search::Profile::Measured{1.27, 0.79, 2.4, 8, 2};
  profile.origin = {"bayes", "code.jsonl", "feed", 8, 700, 120, 42, 300.5, "a device", "a driver 1"};
  return profile;
}

std::vector<std::string> profile_seeds() { return {search::print(example_profile())}; }

void read_profile(const std::string& folder) {
  const std::string path = folder + "/model.skip.json";
  const search::Profile profile = search::read_profile(path);
  search::specification(profile.skip_set, profile.constants);
  search::print(profile);
  search::check_model(profile, path, "0123456789abcdef", layers);
}

const search::JournalKey journal_key{"0123456789abcdef", "feed", "a device, a driver 1", 8, 700};

std::vector<std::string> journal_seeds() {
  const fixtures::TemporaryDirectory folder;
  search::Journal journal(folder.file("state.json"), journal_key, layers);
  speculation::RoundCosts costs;
  costs.add(1, {10, 20, 30});
  costs.add(8, {12, 22, 40});
  journal.set_costs(costs);
  for (const char* set : {"attn:3,5-7;mlp:9", "mlp:1", "full"}) journal.add({exec::LayerPlan::parse(set, layers), {}, 1.5});
  return {fixtures::bytes_of(folder.file("state.json"))};
}

void read_journal(const std::string& folder) { search::Journal(folder + "/state.json", journal_key, layers); }

// ---- measurements

const Json measurement_key{{"device", "a device"}, {"vendor_id", 5}, {"kernels", "00ff"}};

Json example_choices() {
  return {{"matvec", {{{"format", "Q8_0"}, {"rows", 4}, {"choice", {32, 4, 2, 1}}}}},
          {"matmul", {{{"format", "Q4_0"}, {"shape", {512, 64}}, {"choice", {64}}}}},
          {"attention", {{{"shape", {4, 64, 1}}, {"choice", {32, 2, 1}}}}}};
}

std::vector<std::string> choices_seeds() { return {example_choices().dump()}; }

/// A file of measurements is trusted to be whole, by its sum, but not to be what it should be.
void read_choices(const std::string& folder) {
  const auto document = parse_json<Json>(fixtures::bytes_of(folder + "/choices.json"), "choices.json");
  tune::to_json(tune::choices_from(document));
}

/// The file's name depends on the key: it is put where it is looked for.
void read_measurements(const std::string& folder) {
  const tune::MeasurementFile file(folder, "choices", measurement_key);
  // Not by copy_file(): libFuzzer's timer interrupts it.
  fixtures::write_text(file.path(), fixtures::bytes_of(folder + "/measurements.json"));
  const auto measured = file.read();
  if (!measured) throw Error(Code::bad_file, "it is as if the file were not there");
  tune::choices_from(*measured);
}

std::vector<std::string> measurement_seeds() {
  const fixtures::TemporaryDirectory folder;
  const tune::MeasurementFile file(folder.path().string(), "choices", measurement_key);
  file.write(example_choices());
  return {fixtures::bytes_of(file.path())};
}

// ---- prompts

std::vector<std::string> prompts_seeds() {
  return {R"({"prompt": "def f(x):", "category": "code"}
"a string alone"
{"turns": ["first", "second"], "question_id": 7}

{"question": "What is \u00e9?"}
)"};
}

void read_prompts(const std::string& folder) {
  try {
    cli::read_prompts(folder + "/prompts.jsonl", 0);
  } catch (const cli::Failure& failure) {
    throw Error(Code::bad_file, failure.what());
  }
}

}  // namespace

std::span<const Reader> state_readers() {
  static const std::array readers{
      Reader{"profile", "model.skip.json", Kind::json, profile_seeds, nullptr, read_profile},
      Reader{"journal", "state.json", Kind::json, journal_seeds, nullptr, read_journal},
      Reader{"choices", "choices.json", Kind::json, choices_seeds, nullptr, read_choices},
      Reader{"measurements", "measurements.json", Kind::json, measurement_seeds, nullptr, read_measurements},
      Reader{"prompts", "prompts.jsonl", Kind::json_lines, prompts_seeds, nullptr, read_prompts},
  };
  return readers;
}

std::vector<Reader> all_readers() {
  std::vector<Reader> all(model_readers().begin(), model_readers().end());
  for (const auto readers : {state_readers(), grammar_readers()}) all.insert(all.end(), readers.begin(), readers.end());
  return all;
}

bool read(const Reader& reader, const std::string& folder, const std::string& bytes) {
  const std::string path = folder + "/" + reader.file;
  std::filesystem::remove(path);  // some file systems flush to the disk where a file is truncated and written again
  fixtures::write_text(path, bytes);
  try {
    reader.read(folder);
    return true;
  } catch (const Error& error) {
    const std::string sentence = error.what();
    if (sentence.empty() || error.code() == Code::ok) throw std::logic_error("refused without a sentence or a code");
    if (sentence != message_text(sentence)) throw std::logic_error("a sentence that is not safe to print: " + sentence);
    if (error.code() == Code::internal) throw std::logic_error("called a defect of the program: " + sentence);
    return false;
  }
}

}  // namespace skipstone::fuzz
