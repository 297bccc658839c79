// The tools of a request in an API that also has tools which cannot run here.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "serve/generation_request.h"

namespace cli::serve {

/// Takes a client's list, tool by tool. Tools that their vendor runs, or whose schemas its models know, are left out; the answer says so.
class ToolList {
 public:
  /// `json`: the tool in the form of chat completions.
  void add_function(const std::string& json);
  /// `type`: as the client wrote it.
  void leave_out(const std::string& type);
  /// Gives the request its functions and notes.
  void give_to(GenerationRequest& request, bool callable);

 private:
  std::string functions_;  ///< separated by commas
  std::vector<std::uint32_t> places_;
  std::uint32_t given_ = 0;
  std::set<std::string> left_out_;  ///< types
};

}  // namespace cli::serve
