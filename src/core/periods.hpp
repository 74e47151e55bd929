// The day, week, month or year of a date written in a plain form.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace dpdistinct {

enum class Every : std::uint8_t { kWhole, kDay, kWeek, kMonth, kYear };  // kWhole: the text itself

// Writes the same labels as DuckDB does with group_lists.label_sql.
class PeriodLabel {
   public:
    // The label of a date; valid as long as `text` and until the next call. The plain forms are 2024-03-05,
    // 2024-03-05 16:00:00 and 2024-03-05T16:00:00.123456Z. A text such as 2024-03 is the label of its own month.
    // Other texts give an empty label; DuckDB reads them.
    std::string_view of(std::string_view text, Every every) {
        if (is_label(text, every)) return text;
        if (!is_plain(text)) return {};
        switch (every) {
            case Every::kDay: return text.substr(0, 10);
            case Every::kMonth: return text.substr(0, 7);
            case Every::kYear: return text.substr(0, 4);
            default: return week();
        }
    }

   private:
    static bool is_label(std::string_view text, Every every) {
        int year, part;
        if (text.size() < 4 || !number(text, 0, 4, year) || !is_usual(year)) return false;
        switch (every) {
            case Every::kYear: return text.size() == 4;
            case Every::kMonth:
                return text.size() == 7 && text[4] == '-' && number(text, 5, 2, part) && part >= 1 && part <= 12;
            case Every::kWeek:
                return text.size() == 8 && text[4] == '-' && text[5] == 'W' && number(text, 6, 2, part) && part >= 1 &&
                       part <= 53;
            default: return false;  // a day is named by its date
        }
    }

    static bool is_usual(int year) { return year >= 1001 && year <= 9998; }  // the years beside it have four digits too

    bool is_plain(std::string_view text) {
        if (text.size() < 10 || text[4] != '-' || text[7] != '-') return false;
        if (!number(text, 0, 4, year_) || !number(text, 5, 2, month_) || !number(text, 8, 2, day_)) return false;
        if (!is_usual(year_)) return false;
        if (month_ < 1 || month_ > 12 || day_ < 1 || day_ > days_of(month_)) return false;
        return text.size() == 10 || is_time(text.substr(10));
    }

    // A time of day: " 16:00:00" or "T16:00:00", with up to six decimals of the second, with or without Z.
    static bool is_time(std::string_view text) {
        int hour, minute, second, fraction;
        if (text.size() < 9 || (text[0] != ' ' && text[0] != 'T') || text[3] != ':' || text[6] != ':') return false;
        if (!number(text, 1, 2, hour) || !number(text, 4, 2, minute) || !number(text, 7, 2, second)) return false;
        if (hour > 23 || minute > 59 || second > 59) return false;
        text.remove_prefix(9);
        if (text.ends_with('Z')) text.remove_suffix(1);
        if (text.empty()) return true;
        return text[0] == '.' && text.size() >= 2 && text.size() <= 7 && number(text, 1, text.size() - 1, fraction);
    }

    static bool number(std::string_view text, std::size_t from, std::size_t digits, int& result) {
        result = 0;
        for (std::size_t i = from; i < from + digits; ++i) {
            if (text[i] < '0' || text[i] > '9') return false;
            result = 10 * result + (text[i] - '0');
        }
        return true;
    }

    static bool is_leap(int year) { return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0; }

    int days_of(int month) const {
        constexpr int kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
        return kDays[month - 1] + (month == 2 && is_leap(year_));
    }

    // The week that this day's Thursday is in, in the year of that Thursday (ISO 8601).
    std::string_view week() {
        int of_year = day_;  // the day of the year, from 1 on
        for (int month = 1; month < month_; ++month) of_year += days_of(month);
        const int before = year_ - 1;
        const int weekday = (before * 365 + before / 4 - before / 100 + before / 400 + of_year - 1) % 7;  // 0: Monday
        int thursday = of_year - weekday + 3, year = year_;
        const auto length = [](int any) { return 365 + is_leap(any); };
        if (thursday < 1) thursday += length(--year);
        if (thursday > length(year)) thursday -= length(year++);
        const int number = (thursday - 1) / 7 + 1;
        const int digits[] = {year / 1000, year / 100 % 10, year / 10 % 10, year % 10, number / 10, number % 10};
        std::memcpy(label_, "0000-W00", sizeof label_);
        for (int i = 0; i < 6; ++i) label_[i < 4 ? i : i + 2] = static_cast<char>('0' + digits[i]);
        return {label_, sizeof label_};
    }

    int year_ = 0, month_ = 0, day_ = 0;
    char label_[8];
};

}  // namespace dpdistinct
