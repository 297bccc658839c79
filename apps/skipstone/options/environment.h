// Environment variables are defaults of options: they give way to the command line and never conflict with it.
#pragma once

#include <CLI/App.hpp>
#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

namespace cli::environment {

/// At most one of `options` takes effect, as with CLI::Option::excludes(), which needs no call of this: a variable is ignored if the
/// command line gives another option, or another's variable precedes it. For options whose conflict the command itself explains.
void set_exclusive(std::initializer_list<CLI::Option*> options);

/// A variable of `option` is ignored where none of `needed` has a value, on the command line or by its own variable.
void set_needs(CLI::Option* option, std::initializer_list<CLI::Option*> needed);

/// The variable that `option` can be set by, also where resolve() ignores it; empty: none.
std::string name_of(const CLI::Option* option);

/// Whether `option` has its value from its variable. Valid after resolve().
bool supplies(const CLI::Option* option);

/// Ignores those variables of the command in `arguments` (last first, as CLI::App::parse() takes them) that the functions above say; to be
/// called before `app` parses them. `build` adds the commands to another App, which finds out what the command line itself gives.
void resolve(CLI::App& app, const std::vector<std::string>& arguments, const std::function<void(CLI::App&)>& build);

}  // namespace cli::environment
