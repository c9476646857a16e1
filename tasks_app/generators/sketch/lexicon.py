"""The words the sketch artist knows: data only, read by ``words``.

A concept is named ``group.name``. Its English words are separated by spaces (``_`` joins the
words of a phrase); its Chinese ones, simplified and traditional, likewise.
"""

from typing import Final

TERMS: Final[dict[str, tuple[str, str]]] = {
    # Colours
    "colour.red": (
        "red crimson scarlet ruby vermilion cherry blood poppy",
        "红 紅 赤 朱 绯 緋 血色 深红 深紅",
    ),
    "colour.orange": ("orange amber tangerine copper coral", "橙 橘 琥珀 珊瑚色"),
    "colour.yellow": ("yellow lemon saffron sunflower daffodil", "黄 黃 柠檬 檸檬 向日葵 油菜花"),
    "colour.gold": ("gold golden gilded", "金色 黄金 黃金 鎏金 金箔 金黄 金黃"),
    "colour.green": (
        "green emerald jade olive lime moss",
        "绿 綠 翠 翡翠 碧绿 碧綠 墨绿 墨綠 草绿",
    ),
    "colour.teal": ("teal cyan turquoise aqua mint", "青 青色 青绿 青綠 薄荷 蒂芙尼"),
    "colour.blue": ("blue azure cobalt indigo navy sapphire", "蓝 藍 湛蓝 蔚蓝 靛 宝蓝 碧蓝"),
    "colour.purple": ("purple violet lavender lilac mauve plum", "紫 紫罗兰 薰衣草 紫羅蘭"),
    "colour.pink": (
        "pink rose magenta blush fuchsia cherry_blossom sakura",
        "粉 粉色 粉红 粉紅 玫红 桃红 桃色 樱花 櫻花 桃花",
    ),
    "colour.brown": ("brown sepia umber sienna ochre rust rusty", "棕 褐 咖啡色 赭"),
    "colour.white": ("white ivory cream", "白 白色 雪白 乳白 象牙"),
    "colour.black": ("black ebony obsidian", "黑 黑色 漆黑 乌黑"),
    "colour.grey": ("grey gray ash slate monochrome", "灰 灰色 黑白 单色 單色"),
    # Times of day
    "time.dawn": (
        "dawn sunrise daybreak morning",
        "黎明 日出 清晨 早晨 拂晓 破晓 晨光 晨曦 朝霞 早上",
    ),
    "time.noon": ("noon midday daylight day daytime", "正午 中午 白天 白昼 晌午 午后 下午"),
    "time.gold": (
        "golden_hour afternoon evening_sun late_sun",
        "黄金时刻 夕照 斜阳 斜陽 暖阳 金色阳光",
    ),
    "time.dusk": (
        "dusk sunset twilight evening sundown",
        "黄昏 黃昏 日落 傍晚 夕阳 夕陽 暮色 晚霞 落日",
    ),
    "time.night": (
        "night midnight nocturne nocturnal nighttime dark",
        "夜 夜晚 夜色 深夜 午夜 夜里 夜景 黑夜 晚上",
    ),
    # Weather
    "weather.rain": (
        "rain rainy raining drizzle shower downpour",
        "雨 下雨 细雨 雨天 雨中 小雨 暴雨 烟雨 煙雨",
    ),
    "weather.snow": (
        "snow snowy snowing snowfall blizzard winter frost icy",
        "雪 下雪 雪花 飘雪 冬 冬天 冬季 冰雪 风雪 霜",
    ),
    "weather.fog": (
        "fog foggy mist misty haze hazy smoke",
        "雾 霧 薄雾 迷雾 雾气 烟 煙 晨雾 云雾 雲霧",
    ),
    "weather.storm": (
        "storm stormy thunder lightning tempest thunderstorm typhoon hurricane",
        "风暴 風暴 暴风 暴风雨 雷 闪电 閃電 雷电 台风 颱風 雷暴",
    ),
    "weather.cloud": (
        "cloud cloudy overcast clouds",
        "云 雲 云朵 白云 白雲 阴天 陰天 多云 乌云 云海 雲海",
    ),
    "weather.clear": ("clear sunny cloudless bright", "晴 晴天 晴朗 明媚 万里无云"),
    "weather.wind": ("wind windy breeze gale", "风 風 微风 大风"),
    "weather.aurora": ("aurora northern_lights borealis", "极光 極光"),
    "weather.rainbow": ("rainbow", "彩虹"),
    # Materials and techniques
    "material.ink": (
        "ink sumi ink_wash calligraphy brush sumi-e",
        "墨 水墨 水墨画 国画 國畫 写意 泼墨 毛笔 书法",
    ),
    "material.watercolour": (
        "watercolour watercolor aquarelle gouache wash",
        "水彩 水彩画 水彩畫 水粉",
    ),
    "material.paper": (
        "paper papercut paper_cut origami collage cutout",
        "纸 紙 剪纸 剪紙 折纸 宣纸 纸雕",
    ),
    "material.glass": (
        "glass stained_glass crystal mosaic kaleidoscope prism",
        "玻璃 琉璃 彩色玻璃 彩绘玻璃 水晶 马赛克 棱镜 万花筒",
    ),
    "material.metal": (
        "metal metallic steel chrome iron bronze silver",
        "金属 金屬 钢 鋼 铁 鐵 青铜 銀 银 银色",
    ),
    "material.neon": (
        "neon cyberpunk synthwave vaporwave glow glowing luminous",
        "霓虹 霓虹灯 赛博朋克 赛博 发光 荧光 螢光 蒸汽波",
    ),
    "material.oil": ("oil oil_painting impasto painterly", "油画 油畫 油彩 厚涂"),
    "material.silk": ("silk satin fabric velvet ribbon", "丝绸 絲綢 绸 缎 丝 絲带 丝带"),
    # Moods
    "mood.calm": (
        "calm quiet peaceful serene tranquil silent gentle still soft zen",
        "宁静 寧靜 安静 平静 静谧 温柔 祥和 恬静 禅 静",
    ),
    "mood.wild": (
        "wild fierce dramatic epic chaotic violent turbulent dynamic energetic",
        "狂野 激烈 壮丽 史诗 狂 汹涌 波澜壮阔 动感 热烈",
    ),
    "mood.melancholy": (
        "melancholy melancholic sad lonely gloomy sorrow desolate nostalgic bleak",
        "忧郁 憂鬱 悲伤 孤独 孤獨 寂寞 忧伤 凄凉 荒凉 怀旧 落寞",
    ),
    "mood.joyful": (
        "joyful happy cheerful vibrant vivid playful colorful colourful",
        "欢快 快乐 喜悦 明快 鲜艳 多彩 缤纷 五彩 活泼",
    ),
    "mood.dreamy": (
        "dreamy dream surreal magical mystical ethereal fantasy fairytale",
        "梦幻 夢幻 梦 夢 魔幻 奇幻 仙境 童话 神秘 超现实",
    ),
    "mood.minimal": ("minimal minimalist simple sparse", "极简 極簡 简约 留白 简单"),
    # Seasons
    "season.spring": ("spring springtime", "春 春天 春日 春季"),
    "season.summer": ("summer summertime", "夏 夏天 夏日 夏季"),
    "season.autumn": ("autumn fall maple", "秋 秋天 秋日 秋季 枫叶 红叶 枫 楓"),
    # Subjects
    "subject.mountain": (
        "mountain mountains peak summit alps cliff ridge valley hill hills canyon fjord",
        "山 山脉 山脈 群山 雪山 高山 山峰 峰 山谷 峡谷 丘陵 悬崖",
    ),
    "subject.sea": (
        "sea ocean wave waves seascape tide beach coast shore surf",
        "海 大海 海洋 海浪 波浪 海边 海岸 海滩 沙滩 浪 海面",
    ),
    "subject.lake": (
        "lake pond reflection river water waterfall stream",
        "湖 湖泊 湖面 湖水 池塘 倒影 河 江 江南 溪 水面 河流 西湖",
    ),
    "subject.forest": (
        "forest wood woods woodland tree trees pine fir jungle rainforest grove taiga",
        "森林 树林 樹林 树 樹 松 松树 松林 林 丛林 雨林 树木 林间 杉",
    ),
    "subject.bamboo": ("bamboo", "竹 竹林 竹子"),
    "subject.birch": ("birch", "白桦 桦树 白桦林 白樺 樺樹"),
    "subject.city": (
        "city skyline town street skyscraper tower building urban downtown metropolis cityscape",
        "城市 都市 街 街道 高楼 大厦 城 摩天楼 建筑 夜市 天际线 上海 香港 东京",
    ),
    "subject.desert": ("desert dune dunes sahara sand oasis", "沙漠 沙丘 大漠 戈壁 沙海 沙"),
    "subject.flower": (
        "flower blossom bouquet floral tulip peony poppy daisy daffodil lotus lily orchid "
        "botanical garden sunflower bloom petal sakura rose cherry_blossom plum_blossom",
        "花 花朵 花卉 花园 牡丹 荷花 莲花 樱花 櫻花 玫瑰 百合 郁金香 向日葵 油菜花 "
        "梅花 桃花 花束 植物",
    ),
    "subject.moon": (
        "moon moonlight moonlit lunar crescent",
        "月 月亮 明月 月光 满月 圆月 月色 新月 弯月",
    ),
    "subject.sun": ("sun sunlight sunshine", "太阳 太陽 阳光 陽光 日光 烈日 红日 紅日"),
    "subject.stars": (
        "star stars starry stardust constellation starlight",
        "星 星星 星空 繁星 星辰 群星 星光 银河 銀河",
    ),
    "subject.space": (
        "space nebula galaxy cosmos universe cosmic milky_way interstellar",
        "宇宙 太空 星云 星雲 星系 深空 外太空",
    ),
    "subject.planet": ("planet saturn jupiter mars", "行星 星球 土星 木星 火星"),
    "subject.bird": ("bird birds gull seagull crane goose geese", "鸟 鳥 飞鸟 海鸥 鹤 鶴 雁 大雁"),
    "subject.boat": ("boat ship sail sailboat sailing yacht", "船 帆 小船 帆船 舟 孤舟 扁舟 渔船"),
    "subject.house": ("house cabin hut cottage home village", "房子 小屋 屋 木屋 村庄 村 家 茅屋"),
    "subject.person": (
        "person man woman girl boy figure traveler traveller wanderer portrait people hiker",
        "人 人物 女孩 男孩 少女 少年 旅人 女人 男人 行人 背影",
    ),
    "subject.lighthouse": ("lighthouse beacon", "灯塔 燈塔"),
    "subject.cat": ("cat kitten kitty", "猫 貓 小猫 猫咪"),
    "subject.grass": ("grass meadow field prairie grassland", "草 草原 草地 田野 麦田 稻田 原野"),
    "subject.abstract": (
        "abstract flow fluid swirl energy music wave_form motion generative smoke",
        "抽象 流动 流動 漩涡 流体 能量 音乐 律动 旋律 运动",
    ),
    "subject.geometry": (
        "geometric geometry pattern bauhaus cubist cubism poster circle triangle",
        "几何 幾何 图案 包豪斯 立体主义 海报 圆 三角",
    ),
    "subject.fire": ("fire flame lava volcano ember burning", "火 火焰 火山 岩浆 烈火 燃烧"),
}

OPPOSITES: Final[dict[str, tuple[str, ...]]] = {
    "time.night": ("subject.stars", "subject.moon"),
    "subject.space": ("subject.stars",),
}
"""Avoiding the first word of a pair avoids what it brings along as well."""
