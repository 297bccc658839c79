#include "speculation/search/journal.h"

#include <span>
#include <utility>

#include "base/output_file.h"
#include "base/platform/files.h"
#include "base/status.h"
#include "json/json.h"
#include "json/parse_json.h"
#include "speculation/search/profile.h"

namespace skipstone::speculation::search {
namespace {

constexpr const char* journal_format = "skipstone-tune-state";
constexpr int journal_version = 1;

Json to_json(const JournalKey& key) {
  return {
      {"model", key.fingerprint}, {"prompts", key.prompts_hash}, {"device", key.device}, {"texts", key.prompts}, {"tokens", key.tokens}};
}

Json to_json(const RoundCosts& costs) {
  Json all = Json::array();
  for (const auto& [rows, cost] : costs.buckets())
    all.push_back({{"rows", rows},
                   {"attention", cost.attention},
                   {"mlp", cost.mlp},
                   {"rest", cost.rest},
                   {"expert", cost.expert},
                   {"experts", cost.experts}});
  return all;
}

RoundCosts costs_from(const Json& all) {
  RoundCosts costs;
  for (const Json& cost : all) {
    PassCost pass{cost.at("attention"), cost.at("mlp"), cost.at("rest")};
    pass.expert = cost.value("expert", 0.0);  // older journals lack both
    pass.experts = cost.value("experts", 0.0);
    costs.add(cost.at("rows"), pass);
  }
  return costs;
}

/// Throws invalid_argument, naming the difference, where the keys differ.
void check(const Json& theirs, const Json& ours, const std::string& path) {
  const std::pair<const char*, const char*> differences[] = {{"model", "with another model"},
                                                             {"prompts", "with other prompts"},
                                                             {"device", "on another device or driver"},
                                                             {"texts", "with another number of prompts"},
                                                             {"tokens", "with continuations of another length"}};
  for (const auto& [field, words] : differences) {
    if (theirs.at(field) == ours.at(field)) continue;
    fail(Code::invalid_argument, "the search in '{}' was begun {}; name another profile with -o, or remove that file", path, words);
  }
}

}  // namespace

Journal::Journal(std::string path, const JournalKey& key, std::uint32_t layers) : path_(std::move(path)), key_(key), layers_(layers) {
  if (!path_.empty() && platform::is_there(path_)) read();
}

void Journal::read() {
  const std::string text = read_text_file(path_, "state of a search");
  Json document;
  try {
    document = parse_json<Json>(text, path_);
  } catch (const Error&) {  // no JSON: as little a state as any other document; the sentence below says what to do
  }
  if (!document.is_object() || document.value("format", Json()) != journal_format || document.value("version", Json()) != journal_version) {
    fail(Code::invalid_argument, "'{}' is where the state of the search is kept, but is none; remove it or name another profile with -o",
         path_);
  }
  try {
    check(document.at("search"), to_json(key_), path_);
    if (const Json& costs = document.at("costs"); !costs.is_null()) costs_ = costs_from(costs);
    for (const Json& e : document.at("evaluations")) {
      Evaluation evaluation;
      evaluation.set = exec::LayerPlan::parse(e.at("set").get<std::string>(), layers_);
      evaluation.best = {constants_from(e.at("constants")), expected_from(e.at("expected"))};
      evaluation.seconds = e.at("seconds");
      index_.emplace(evaluation.set, evaluations_.size());
      evaluations_.push_back(evaluation);
    }
  } catch (const Json::exception& error) {
    fail(Code::invalid_argument, "the state of the search in '{}' is damaged: {}", path_, error.what());
  }
}

const Evaluation* Journal::find(const exec::LayerPlan& set) const {
  const auto found = index_.find(set);
  return found == index_.end() ? nullptr : &evaluations_[found->second];
}

void Journal::add(const Evaluation& evaluation) {
  if (!index_.emplace(evaluation.set, evaluations_.size()).second) return;
  evaluations_.push_back(evaluation);
  if (!path_.empty()) write();
}

void Journal::write() const {
  Json evaluations = Json::array();
  for (const Evaluation& e : evaluations_) {
    evaluations.push_back({{"set", e.set.print(layers_)},
                           {"constants", search::to_json(e.best.constants)},
                           {"expected", search::to_json(e.best.expected)},
                           {"seconds", e.seconds}});
  }
  const Json document = {{"format", journal_format},
                         {"version", journal_version},
                         {"search", to_json(key_)},
                         {"costs", costs_ ? to_json(*costs_) : Json()},
                         {"evaluations", std::move(evaluations)}};
  const std::string text = document.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
  write_whole_file(path_, std::as_bytes(std::span(text)));
}

}  // namespace skipstone::speculation::search
