#include <fmt/format.h>

#include <map>

#include "grammar/schema/keywords.h"

namespace skipstone::grammar::schema {
namespace {

// RFC 3339. February has 29 days in years that 4 divides, except those that 100 divides and 400 does not.
const std::string date =
    "(\\d{4}-(0[13578]|1[02])-(0[1-9]|[12]\\d|3[01])|\\d{4}-(0[469]|11)-(0[1-9]|[12]\\d|30)|\\d{4}-02-(0[1-9]|1\\d|2[0-8])|"
    "(\\d\\d(0[48]|[2468][048]|[13579][26])|([02468][048]|[13579][26])00)-02-29)";
const std::string hour_minute = "([01]\\d|2[0-3]):[0-5]\\d";
const std::string written_time = hour_minute + ":[0-5]\\d(\\.\\d{1,9})?(Z|[+-]" + hour_minute + ")";

/// RFC 3339 has a 60th second in the last minute of UTC's day alone: for each local minute there is one offset that makes it that, in two
/// forms. Offsets are whole quarters of an hour, as all time zones have them.
std::string leap_times() {
  constexpr int minutes_of_day = 1440, quarter = 15;
  std::string regex = "23:59:60(\\.\\d+)?[Zz]";
  for (int ahead = 0; ahead < minutes_of_day; ahead += quarter) {
    const int minute = (ahead + minutes_of_day - 1) % minutes_of_day, back = (minutes_of_day - ahead) % minutes_of_day;
    regex += fmt::format("|{:02}:{:02}:60(\\.\\d+)?(\\+{:02}:{:02}|-{:02}:{:02})", minute / 60, minute % 60, ahead / 60, ahead % 60,
                         back / 60, back % 60);
  }
  return regex;
}

const std::string octet = "(25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)";
const std::string ipv4 = octet + "(\\." + octet + "){3}";

/// RFC 4291, section 2.2: eight groups, of which one run may be "::", and the last two may be an IPv4 address.
std::string ipv6() {
  const std::string group = "[0-9A-Fa-f]{1,4}";
  const std::string last = "(" + group + ":" + group + "|" + ipv4 + ")";
  std::string regex = fmt::format("({0}:){{6}}{1}", group, last);
  // `before` groups in front of "::", and after it fewer than would make eight.
  for (int before = 0; before <= 7; ++before) {
    const std::string front = before == 0 ? "" : fmt::format("{}(:{}){{{}}}", group, group, before - 1);
    const int room = 7 - before;
    std::string back;
    if (room >= 1) back += fmt::format("({0}(:{0}){{0,{1}}})?", group, room - 1);
    if (room >= 2) back = fmt::format("({}|({}:){{0,{}}}{})", back, group, room - 2, ipv4);
    regex.append("|").append(front).append("::").append(back);
  }
  return "(" + regex + ")";
}

const std::string atoms = "[A-Za-z0-9!#$%&'*+/=?\\^_`{|}~\\-]+";
const std::string label = "[A-Za-z0-9]([A-Za-z0-9\\-]*[A-Za-z0-9])?";

/// RFC 5321, section 4.1.2.
std::string email() {
  const std::string quoted = "\"([ !#-\\[\\]-~]|\\\\[ -~])*\"";
  return fmt::format("({0}(\\.{0})*|{1})@({2}(\\.{2})*|\\[{3}\\]|\\[IPv6:{4}\\])", atoms, quoted, label, ipv4, ipv6());
}

TextAutomaton whole(const std::string& regex) { return TextAutomaton::of_pattern("^(" + regex + ")$"); }

std::map<std::string, TextAutomaton> all_texts() {
  const std::string any_time = hour_minute + ":[0-5]\\d(\\.\\d+)?([Zz]|[+-]" + hour_minute + ")|" + leap_times();
  return {{"date", whole(date)},
          {"date-time", whole(date + "[Tt](" + any_time + ")")},
          {"email", whole(email())},
          {"ipv4", whole(ipv4)},
          {"ipv6", whole(ipv6())},
          {"time", whole(any_time)},
          {"uuid", whole("[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")}};
}

std::map<std::string, TextAutomaton> written_texts() {
  return {{"date", whole(date)},
          {"date-time", whole(date + "T" + written_time)},
          {"email", whole(fmt::format("{0}(\\.{0})*@({1}\\.)+{1}", atoms, label))},
          {"ipv4", whole(ipv4)},
          {"ipv6", whole(ipv6())},
          {"time", whole(written_time)},
          {"uuid", whole("[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")}};
}

}  // namespace

const TextAutomaton* find_format(const std::string& name, Form form) {
  const auto find = [&](const std::map<std::string, TextAutomaton>& formats) {
    const auto found = formats.find(name);
    return found == formats.end() ? nullptr : &found->second;
  };
  if (form == Form::writing) {
    static const std::map<std::string, TextAutomaton> written = written_texts();
    return find(written);
  }
  static const std::map<std::string, TextAutomaton> all = all_texts();
  return find(all);
}

}  // namespace skipstone::grammar::schema
