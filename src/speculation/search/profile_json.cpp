#include "speculation/search/profile_json.h"

#include "base/status.h"
#include "json/json.h"

namespace skipstone::speculation::search {
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
