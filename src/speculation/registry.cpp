#include "speculation/registry.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/status.h"
#include "speculation/composite.h"
#include "speculation/drafters/drafters.h"
#include "speculation/options.h"

namespace skipstone::speculation {
namespace {

class None final : public Drafter {
 public:
  std::string name() const override { return "none"; }
  DrafterTraits traits() const override { return {.drafts = false}; }
  Proposal propose(std::span<const Token>) override { return NoDrafts{}; }
};

std::unique_ptr<Drafter> make_none(Options&) { return std::make_unique<None>(); }

using Factory = std::unique_ptr<Drafter> (*)(Options&);

constexpr std::array<DrafterInfo, 18> table = {{
    {"none", "plain decoding: one pass of the whole model for every token", "", true},
    {"asd",
     "the model's own layers, those left out that the prompt shows to do little (Draft on the Fly); cs=0, rule1=0, rule2=0: without one of "
     "its rules; refresh=N: chosen anew every N tokens",
     "c=0.985,n=3,m=2,k=12,gamma=0.6,eps=0.01,alpha=0.85,b1=0.5,b2=0.9,adaptive=1,cs=1,rule1=1,rule2=1,reuse=1,refresh=0", true},
    {"exit",
     "the model's first E layers and its head, for checkpoints trained to exit early (LayerSkip); exit:E, exit:auto, or the model's own E",
     "k=6,gamma=0,eps=0.01,alpha=0.85,b1=0.5,b2=0.9,adaptive=0,reuse=1", true},
    {"skip",
     "the model with a set of sublayers left out (Draft & Verify); skip:attn:LAYERS;mlp:LAYERS, counted from 0, skip:PROFILE.json, or "
     "skip: MODEL.skip.json beside the model",
     "k=12,gamma=0.6,eps=0.01,alpha=0.85,b1=0.5,b2=0.9,adaptive=1,reuse=1,online=0", true, NamesFile::may},
    {"experts",
     "the model with fewer experts for each token, of models that have experts; experts:N, or a quarter of the model's own number",
     "k=12,gamma=0.6,eps=0.01,alpha=0.85,b1=0.5,b2=0.9,adaptive=1", true},
    {"mtp", "the model's head for multi-token prediction, of files that have one; its drafts follow each other",
     "k=3,gamma=0,eps=0.01,alpha=0.85,b1=0.5,b2=0.9,adaptive=0", true},
    {"auto", "whatever promises the most tokens per second, round by round, and nothing where nothing pays; auto:NAME,NAME,... of these",
     "", true},
    {"sequential", "LOSSY: the model leaves early where it, or a guess from the text's n-grams, is sure enough; sequential:LAYER/LAYER/...",
     "any=0.8,own=0.5,reject=0.01,mix=0,recompute=0", false},
    {"lookup", "what followed the text's last tokens earlier in it, the longest match first (prompt lookup); no pass", "max=3,min=1,k=10",
     true},
    {"suffix", "how the text, or --draft-corpus, continued after its longest match, as a tree by frequency (SuffixDecoding, REST); no pass",
     "k=16,min=1,alpha=1,p=0.1,samples=64", true},
    {"grammar", "what the text's grammar leaves no choice about (--json-schema, --grammar, --regex); no pass", "k=16", true},
    {"copy", "a document that the text is to be much like (aggressive decoding); copy:FILE; no pass", "k=15,max=8,min=1", true,
     NamesFile::must},
    {"jacobi", "what the last pass said after its wrong drafts (Jacobi decoding); no pass of its own", "k=4", true},
    {"lookahead", "n-grams that Jacobi iterations in the same pass come to (lookahead decoding); no pass of its own",
     "w=4,n=3,g=3,prompt=1", true},
    {"ngram", "k rows of w tokens: what followed the last q tokens, then the model's own bigrams (N-Grammys); rows=block: as in the paper",
     "k=10,w=10,q=1,rows=tree,context=1,bigram=1,unigram=0", true},
    {"recycle", "what the model found likely after the same tokens the last time, as a tree (Token Recycling); no pass of its own",
     "k=8,n=31", true},
    {"model", "a second, smaller model of the same vocabulary (two-model speculation); model:FILE.gguf",
     "k=12,gamma=0.6,eps=0.01,alpha=0.85,b1=0.5,b2=0.9,adaptive=1", true, NamesFile::must},
    {"window", "the whole model with the text's first SINK and last RECENT positions alone, for long texts; window:SINK,RECENT (4,252)",
     "k=12,gamma=0.6,eps=0.01,alpha=0.85,b1=0.5,b2=0.9,adaptive=1", true},
}};
constexpr std::array<Factory, table.size()> factories = {
    make_none,   make_asd,     make_exit, make_skip,   make_experts,   make_mtp,   make_auto,    make_sequential, make_lookup,
    make_suffix, make_grammar, make_copy, make_jacobi, make_lookahead, make_ngram, make_recycle, make_model,      make_window};

const DrafterInfo* find(std::string_view name) {
  const auto found = std::ranges::find(table, name, &DrafterInfo::name);
  return found == table.end() ? nullptr : &*found;
}

std::unique_ptr<Drafter> make_one(std::string_view specification) {
  const auto colon = specification.find(':');
  const std::string_view name = name_of(specification);
  if (const DrafterInfo* info = find(name)) {
    Options options(name, colon == std::string_view::npos ? std::string_view{} : specification.substr(colon + 1));
    auto drafter = factories[static_cast<std::size_t>(info - table.data())](options);
    options.finish();
    return drafter;
  }
  std::string names;
  for (const DrafterInfo& info : table) names += (names.empty() ? "" : ", ") + std::string(info.name);
  fail(Code::invalid_argument, "there is no drafter '{}'; there are {}, written NAME or NAME:value,key=value", name, names);
}

/// The specification's members; no rule is checked.
std::vector<std::string> split(std::string_view specification) {
  std::vector<std::string> members(1);
  for (std::size_t i = 0; i < specification.size(); ++i) {
    std::string& member = members.back();
    const std::string_view rest = specification.substr(i + 1);
    if (specification[i] == '\\' && rest.starts_with('+')) {
      member += '+';
      ++i;
    } else if (specification[i] == '+' &&
               (member.find(':') == std::string::npos || find(rest.substr(0, rest.find_first_of(":+"))) != nullptr)) {
      members.emplace_back();
    } else {
      member += specification[i];
    }
  }
  return members;
}

std::unique_ptr<Drafter> chain_of(std::vector<std::unique_ptr<Drafter>> members) {
  if (members.size() == 1) return std::move(members.front());
  return std::make_unique<Chain>(std::move(members));
}

/// Whether the error is about the user's request, such as a second model that does not fit beside the first, not about a device or a
/// defect.
bool may_be_left_out(Code code) {
  return code == Code::invalid_argument || code == Code::not_found || code == Code::bad_file || code == Code::unsupported ||
         code == Code::out_of_memory || code == Code::io;
}

}  // namespace

std::span<const DrafterInfo> drafters() { return table; }

std::string_view name_of(std::string_view member) { return member.substr(0, member.find(':')); }

std::vector<std::string> members_of(std::string_view specification) {
  if (specification.size() > most_specification_bytes) {
    fail(Code::invalid_argument, "the drafter's specification has {} bytes; at most {} are taken", specification.size(),
         most_specification_bytes);
  }
  std::vector<std::string> members = split(specification);
  if (members.size() > most_members) {
    fail(Code::invalid_argument, "the drafter's specification has {} members; at most {} are taken", members.size(), most_members);
  }
  for (auto member = members.begin(); member != members.end(); ++member) {
    if (std::find(members.begin(), member, *member) != member) {
      fail(Code::invalid_argument, "the drafter's specification has '{}' twice; each member may be there once", *member);
    }
  }
  return members;
}

std::unique_ptr<Drafter> make_drafter(std::string_view specification) {
  std::vector<std::unique_ptr<Drafter>> members;
  for (const std::string& member : members_of(specification)) members.push_back(make_one(member));
  return chain_of(std::move(members));
}

std::unique_ptr<Drafter> make_drafter(std::string_view specification, const ModelFacts& model,
                                      const std::function<void(const std::string& why)>& left_out) {
  std::vector<std::unique_ptr<Drafter>> members;
  for (const std::string& member : members_of(specification)) {
    model.look_around();
    try {
      auto drafter = make_one(member);
      drafter->attach(model);
      members.push_back(std::move(drafter));
    } catch (const Error& error) {
      if (!left_out || !may_be_left_out(error.code())) throw;
      left_out(error.what());
    }
  }
  if (members.empty()) members.push_back(make_one("none"));
  return chain_of(std::move(members));
}

bool is_lossless(std::string_view specification) {
  std::vector<std::string> members;
  try {
    members = members_of(specification);
  } catch (const Error&) {
    return false;
  }
  return std::ranges::all_of(members, [](const std::string& member) {
    const DrafterInfo* info = find(name_of(member));
    return info != nullptr && info->lossless;
  });
}

}  // namespace skipstone::speculation
