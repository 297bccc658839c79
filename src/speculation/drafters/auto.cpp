// The controller over drafters of different kinds.
#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "speculation/controller.h"
#include "speculation/drafter.h"
#include "speculation/drafters/drafters.h"
#include "speculation/options.h"
#include "speculation/registry.h"

namespace skipstone::speculation {
namespace {

/// What a grammar leaves no choice about, lookup of repeated text, the model's head, and its own layers in four ways. Members that a text
/// or a model has no use for (no grammar, no head, no exit that it was trained for, no profile beside it, no experts) are left out.
constexpr std::string_view usual_members = "grammar,suffix,mtp,asd,exit,skip,experts";

constexpr std::size_t most_arms = 16;

/// Throws invalid_argument where `arm` cannot be an arm beside `others`.
void check_arm(std::string_view arm, const std::vector<std::string_view>& others) {
  const std::vector<std::string> members = members_of(arm);
  const auto is_no_arm = [](const std::string& member) { return name_of(member) == "none" || name_of(member).substr(0, 4) == "auto"; };
  if (std::ranges::any_of(members, is_no_arm)) {
    fail(Code::invalid_argument, "drafter auto: '{}' cannot be one of its drafters; no drafts at all is always a choice", arm);
  }
  if (others.size() == most_arms) fail(Code::invalid_argument, "drafter auto: its list has more than {} drafters", most_arms);
  if (std::ranges::find(others, arm) != others.end()) fail(Code::invalid_argument, "drafter auto: its list has '{}' twice", arm);
}

}  // namespace

std::unique_ptr<Drafter> make_auto(Options& options) {
  const std::string given = options.value("DRAFTERS");
  std::string_view names = given.empty() ? usual_members : std::string_view(given);
  std::vector<std::string_view> arms;
  std::vector<std::unique_ptr<Drafter>> members;
  while (!names.empty()) {
    const auto comma = names.find(',');
    const std::string_view name = names.substr(0, comma);
    check_arm(name, arms);
    arms.push_back(name);
    members.push_back(make_drafter(name));
    if (!members.back()->traits().known_costs) {
      fail(Code::invalid_argument,
           "drafter auto: what drafts of '{}' cost is not measured, so it cannot be one of its drafters; a chain "
           "takes it, as in suffix+{}",
           name, name);
    }
    names = comma == std::string_view::npos ? std::string_view{} : names.substr(comma + 1);
  }
  return std::make_unique<Controller>("auto", std::move(members), given.empty());
}

}  // namespace skipstone::speculation
