#include "spec/registry.h"

#include <array>
#include <string>

#include "base/status.h"
#include "spec/drafters/asd.h"
#include "spec/drafters/auto.h"
#include "spec/drafters/exit.h"
#include "spec/drafters/none.h"
#include "spec/drafters/sequential.h"
#include "spec/drafters/skip.h"
#include "spec/options.h"

namespace skipstone::spec {
namespace {

using Factory = std::unique_ptr<Drafter> (*)(Options&);

constexpr std::array<DrafterInfo, 6> table = {{
    {"none", "plain decoding: one pass of the whole model for every token", "", true},
    {"asd", "the model's own layers, those left out that the prompt shows to do little (Draft on the Fly)",
     "c=0.985,n=3,m=2,k=12,gamma=0.6,eps=0.01,alpha=0.85,b1=0.5,b2=0.9,adaptive=1,cs=1,rule1=1,rule2=1,reuse=1", true},
    {"exit",
     "the model's first E layers and its head, for checkpoints trained to exit early (LayerSkip); exit:E, exit:auto, or the model's own E",
     "k=6,gamma=0,eps=0.01,alpha=0.85,b1=0.5,b2=0.9,adaptive=0,reuse=1", true},
    {"skip", "the model with a fixed set of sublayers left out (Draft & Verify); skip:attn:LAYERS;mlp:LAYERS, counted from 0",
     "k=12,gamma=0.6,eps=0.01,alpha=0.85,b1=0.5,b2=0.9,adaptive=1,reuse=1", true},
    {"auto", "whatever promises the most tokens per second, round by round, and nothing where nothing pays; auto:NAME,NAME,... of these",
     "", true},
    {"sequential", "LOSSY: the model leaves early where it, or a guess from the text's n-grams, is sure enough; sequential:LAYER/LAYER/...",
     "any=0.8,own=0.5,reject=0.01,mix=0,recompute=0", false},
}};
constexpr std::array<Factory, table.size()> factories = {make_none, make_asd, make_exit, make_skip, make_auto, make_sequential};

}  // namespace

std::span<const DrafterInfo> drafters() { return table; }

std::unique_ptr<Drafter> make_drafter(std::string_view specification) {
  const auto colon = specification.find(':');
  const std::string_view name = specification.substr(0, colon);
  for (std::size_t i = 0; i < table.size(); ++i) {
    if (table[i].name != name) continue;
    Options options(name, colon == std::string_view::npos ? std::string_view{} : specification.substr(colon + 1));
    auto drafter = factories[i](options);
    options.finish();
    return drafter;
  }
  std::string names;
  for (const DrafterInfo& info : table) names += (names.empty() ? "" : ", ") + std::string(info.name);
  fail(Code::invalid_argument, "there is no drafter '{}'; there are {}, written NAME or NAME:value,key=value", name, names);
}

}  // namespace skipstone::spec
