#include "speculation/search/profile.h"

#include <fmt/format.h>

#include <span>

#include "base/input_file.h"
#include "base/output_file.h"
#include "base/platform/files.h"
#include "base/status.h"
#include "json/json.h"
#include "json/parse_json.h"

namespace skipstone::speculation::search {

namespace {

constexpr const char* profile_format = "skipstone-profile";
constexpr int profile_version = 1;

Json measured_json(const Profile::Measured& measured) {
  return {{"speedup", measured.speedup},
          {"acceptance", measured.acceptance},
          {"tokens_per_round", measured.tokens_per_round},
          {"prompts", measured.prompts},
          {"runs", measured.runs}};
}

Json origin_json(const Profile::Origin& origin) {
  return {{"strategy", origin.strategy},
          {"prompts", {{"file", origin.prompts_name}, {"hash", origin.prompts_hash}, {"count", origin.prompts}, {"tokens", origin.tokens}}},
          {"evaluations", origin.evaluations},
          {"seed", origin.seed},
          {"seconds", origin.seconds},
          {"device", origin.device},
          {"driver", origin.driver}};
}

Profile profile_from(const Json& document) {
  Profile profile;
  const Json& model = document.at("model");
  profile.model_name = model.at("name");
  profile.fingerprint = model.at("fingerprint");
  profile.layers = model.at("layers");
  profile.skip_set = document.at("skip_set");
  profile.constants = constants_from(document.at("constants"));
  profile.expected = expected_from(document.at("expected"));
  if (const Json& measured = document.at("measured"); !measured.is_null()) {
    profile.measured = {measured.at("speedup"), measured.at("acceptance"), measured.at("tokens_per_round"), measured.at("prompts"),
                        measured.at("runs")};
  }
  const Json& found = document.at("found");
  const Json& prompts = found.at("prompts");
  profile.origin = {found.at("strategy"),    prompts.at("file"), prompts.at("hash"),  prompts.at("count"), prompts.at("tokens"),
                    found.at("evaluations"), found.at("seed"),   found.at("seconds"), found.at("device"),  found.at("driver")};
  const exec::LayerPlan set = exec::LayerPlan::parse(profile.skip_set, profile.layers);
  if (set.begin != 0 || set.end != profile.layers || set.skipped_sublayers(profile.layers) == 0) {
    fail(Code::bad_file, "its skip set '{}' is none", profile.skip_set);
  }
  return profile;
}

}  // namespace

std::string print(const Profile& profile) {
  const Json document = {{"format", profile_format},
                         {"version", profile_version},
                         {"model", {{"name", profile.model_name}, {"fingerprint", profile.fingerprint}, {"layers", profile.layers}}},
                         {"skip_set", profile.skip_set},
                         {"constants", to_json(profile.constants)},
                         {"expected", to_json(profile.expected)},
                         {"measured", profile.measured ? measured_json(*profile.measured) : Json()},
                         {"found", origin_json(profile.origin)}};
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string specification(const std::string& skip_set, const DraftConstants& constants) {
  const StopParams& stop = constants.stop;
  std::string text = fmt::format("skip:{},k={},gamma={}", skip_set, constants.k, stop.gamma);
  text += stop.adaptive ? fmt::format(",eps={},alpha={},b1={},b2={}", stop.epsilon, stop.alpha, stop.beta1, stop.beta2) : ",adaptive=0";
  return text + (constants.keep_prefix ? "" : ",reuse=0");
}

Profile parse_profile(const std::string& text, const std::string& path) {
  const Json document = parse_json<Json>(text, fmt::format("'{}' is no profile of a skip set", path));
  if (!document.is_object() || document.value("format", Json()) != profile_format) {
    fail(Code::bad_file, "'{}' is no profile of a skip set; `skipstone tune` writes one", path);
  }
  if (document.value("version", Json()) != profile_version) {
    fail(Code::bad_file, "'{}' is a profile of version {}, this program knows version {}", path, document.value("version", Json()).dump(),
         profile_version);
  }
  try {
    return profile_from(document);
  } catch (const Json::exception& error) {
    fail(Code::bad_file, "the profile '{}' is damaged: {}", path, error.what());
  } catch (const Error& error) {
    fail(Code::bad_file, "the profile '{}' is damaged: {}", path, error.what());
  }
}

std::string read_text_file(const std::string& path, const char* what) {
  constexpr std::uint64_t most_bytes = 16u << 20;
  if (!platform::is_there(path)) fail(Code::not_found, "there is no {} '{}'", what, path);
  return read_whole_file(path, most_bytes);
}

Profile read_profile(const std::string& path) { return parse_profile(read_text_file(path, "profile"), path); }

void write_profile(const Profile& profile, const std::string& path) {
  const std::string text = print(profile);
  write_whole_file(path, std::as_bytes(std::span(text)));
}

void check_model(const Profile& profile, const std::string& path, std::string_view fingerprint, std::uint32_t layers) {
  if (profile.fingerprint == fingerprint && profile.layers == layers) return;
  fail(Code::invalid_argument,
       "the profile '{}' was made for another model ({}, fingerprint {}), not for this one ({}); run `skipstone tune` with it", path,
       profile.model_name, profile.fingerprint, fingerprint);
}

namespace {

double number(const Json& object, const char* key, double low, double high) {
  const double value = object.at(key).get<double>();
  if (!(value >= low && value <= high)) fail(Code::bad_file, "{} is {}, which is not from {} to {}", key, value, low, high);
  return value;
}

}  // namespace

Json to_json(const DraftConstants& constants) {
  const StopParams& stop = constants.stop;
  return {{"k", constants.k},    {"gamma", stop.gamma}, {"adaptive", stop.adaptive}, {"eps", stop.epsilon},
          {"alpha", stop.alpha}, {"b1", stop.beta1},    {"b2", stop.beta2},          {"reuse", constants.keep_prefix}};
}

DraftConstants constants_from(const Json& object) {
  DraftConstants constants;
  constants.k = static_cast<std::uint32_t>(number(object, "k", 1, 256));
  constants.keep_prefix = object.at("reuse").get<bool>();
  constants.stop.gamma = number(object, "gamma", 0, 1);
  constants.stop.adaptive = object.at("adaptive").get<bool>();
  constants.stop.epsilon = number(object, "eps", 0, 1);
  constants.stop.alpha = number(object, "alpha", 0, 1);
  constants.stop.beta1 = number(object, "b1", 0, 1);
  constants.stop.beta2 = number(object, "b2", 0, 1);
  return constants;
}

Json to_json(const Expected& expected) {
  return {{"speedup", expected.speedup},
          {"acceptance", expected.acceptance},
          {"tokens_per_round", expected.tokens_per_round},
          {"drafts_per_round", expected.drafts_per_round}};
}

Expected expected_from(const Json& object) {
  return {object.at("tokens_per_round"), object.at("drafts_per_round"), object.at("acceptance"), object.at("speedup")};
}

}  // namespace skipstone::speculation::search
