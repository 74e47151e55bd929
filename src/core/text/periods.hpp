// The period that a date in a text lies in: one rule for every engine (sources/labels.py has it in words and in SQL).
#pragma once

#include <chrono>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace dpdistinct {

enum class Every : std::uint8_t { kWhole, kDay, kWeek, kMonth, kQuarter, kYear };  // kWhole: the text itself

class PeriodLabel {
   public:
    // The label of a date; valid as long as `text` and until the next call. Empty for a text that is no date.
    std::string_view of(std::string_view text, Every every) {
        if (is_label(text, every)) return text;
        if (!read_day(text) || !write_day()) return {};
        switch (every) {
            case Every::kDay:
                return {label_, 10};
            case Every::kMonth:
                return {label_, 7};
            case Every::kQuarter:
                return quarter();
            case Every::kYear:
                return {label_, 4};
            default:
                return week();
        }
    }

   private:
    using Days = std::chrono::days;

    // A text such as 2024-03 is the label of its own month; a day is named by its date.
    static bool is_label(std::string_view text, Every every) {
        int year, part;
        if (text.size() < 4 || !number(text, 0, 4, year) || year < 1000) return false;
        switch (every) {
            case Every::kYear:
                return text.size() == 4;
            case Every::kMonth:
                return text.size() == 7 && text[4] == '-' && number(text, 5, 2, part) && part >= 1 && part <= 12;
            case Every::kQuarter:
                return text.size() == 7 && text[4] == '-' && text[5] == 'Q' && text[6] >= '1' && text[6] <= '4';
            case Every::kWeek:
                return text.size() == 8 && text[4] == '-' && text[5] == 'W' && number(text, 6, 2, part) && part >= 1 &&
                       part <= 53;
            default:
                return false;
        }
    }

    // The day in UTC.
    bool read_day(std::string_view text) {
        int year, month, day, minute = 0;
        if (text.size() < 10 || text[4] != '-' || text[7] != '-') return false;
        if (!number(text, 0, 4, year) || !number(text, 5, 2, month) || !number(text, 8, 2, day)) return false;
        const std::chrono::year_month_day date{std::chrono::year(year),
                                               std::chrono::month(static_cast<unsigned>(month)),
                                               std::chrono::day(static_cast<unsigned>(day))};
        if (!date.ok() || (text.size() > 10 && !read_time(text.substr(10), minute))) return false;
        day_ = std::chrono::sys_days(date) + Days(minute < 0 ? -1 : minute >= kDay ? 1 : 0);
        return true;
    }

    // The minute of the day in UTC: below zero on the day before, and kDay or more on the day after.
    static bool read_time(std::string_view text, int& minute) {
        int hour, part;
        if (text.size() < 6 || (text[0] != ' ' && text[0] != 'T') || text[3] != ':') return false;
        if (!number(text, 1, 2, hour) || !number(text, 4, 2, minute) || hour > 23 || minute > 59) return false;
        minute += 60 * hour;
        text.remove_prefix(6);
        if (text.size() >= 3 && text[0] == ':') {
            if (!number(text, 1, 2, part) || part > 59) return false;
            text.remove_prefix(3);
            if (text.starts_with('.')) {
                std::size_t digits = 0;
                while (1 + digits < text.size() && text[1 + digits] >= '0' && text[1 + digits] <= '9') ++digits;
                if (digits < 1 || digits > 9) return false;
                text.remove_prefix(1 + digits);
            }
        }
        if (text.empty()) return true;
        if (text[0] == ' ') text.remove_prefix(1);
        if (text == "Z" || text == "UTC") return true;
        return read_zone(text, minute);
    }

    // +02:00, +0200 or +02.
    static bool read_zone(std::string_view text, int& minute) {
        int hours, minutes = 0;
        if (text.size() < 3 || (text[0] != '+' && text[0] != '-') || !number(text, 1, 2, hours) || hours > 14)
            return false;
        const int sign = text[0] == '+' ? 1 : -1;
        text.remove_prefix(3);
        if (text.starts_with(':') && text.size() == 3) text.remove_prefix(1);
        if (!text.empty() && (text.size() != 2 || !number(text, 0, 2, minutes) || minutes > 59)) return false;
        minute -= sign * (60 * hours + minutes);
        return true;
    }

    static bool number(std::string_view text, std::size_t from, std::size_t digits, int& result) {
        result = 0;
        for (std::size_t i = from; i < from + digits; ++i) {
            if (text[i] < '0' || text[i] > '9') return false;
            result = 10 * result + (text[i] - '0');
        }
        return true;
    }

    // False for a day before the year 1000 or after 9999.
    bool write_day() {
        const std::chrono::year_month_day date(day_);
        const int year = static_cast<int>(date.year());
        if (year < 1000 || year > 9999) return false;
        write(0, year / 100), write(2, year % 100);
        write(5, static_cast<int>(static_cast<unsigned>(date.month())));
        write(8, static_cast<int>(static_cast<unsigned>(date.day())));
        label_[4] = label_[7] = '-';
        return true;
    }

    // The week that this day's Thursday is in, in the year of that Thursday (ISO 8601).
    std::string_view week() {
        const auto weekday = std::chrono::weekday(day_).iso_encoding();
        const std::chrono::sys_days thursday = day_ + Days(4) - Days(weekday);
        const std::chrono::year year = std::chrono::year_month_day(thursday).year();
        const Days since = thursday - std::chrono::sys_days(year / std::chrono::January / 1);
        write(0, static_cast<int>(year) / 100), write(2, static_cast<int>(year) % 100);
        std::memcpy(label_ + 4, "-W", 2);
        write(6, static_cast<int>(since.count() / 7) + 1);
        return {label_, 8};
    }

    std::string_view quarter() {
        const int month = 10 * (label_[5] - '0') + (label_[6] - '0');
        label_[5] = 'Q';
        label_[6] = static_cast<char>('0' + (month + 2) / 3);
        return {label_, 7};
    }

    void write(std::size_t at, int two_digits) {
        label_[at] = static_cast<char>('0' + two_digits / 10);
        label_[at + 1] = static_cast<char>('0' + two_digits % 10);
    }

    static constexpr int kDay = 24 * 60;
    std::chrono::sys_days day_;
    char label_[10];
};

}  // namespace dpdistinct
