#include "spec/drafters/auto.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "spec/controller.h"
#include "spec/registry.h"

namespace skipstone::spec {
namespace {

/// What the text repeats, and the model's own layers by three ways. Those that a model has no use for (no exit that it was trained for, no
/// profile beside it) are left out.
constexpr std::string_view usual_members = "suffix,asd,exit,skip";

}  // namespace

std::unique_ptr<Drafter> make_auto(Options& options) {
  const std::string given = options.value("DRAFTERS");
  std::string_view names = given.empty() ? usual_members : std::string_view(given);
  std::vector<std::unique_ptr<Drafter>> members;
  while (!names.empty()) {
    const auto comma = names.find(',');
    const std::string_view name = names.substr(0, comma);
    if (name == "none" || name.substr(0, 4) == "auto") {
      fail(Code::invalid_argument, "drafter auto: '{}' cannot be one of its drafters; no drafts at all is always a choice", name);
    }
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

}  // namespace skipstone::spec
