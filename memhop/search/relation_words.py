"""What people tell about themselves, by relation: how it is asked for, and the words in which it is told. Data only.

An entry is (name, how it is asked, words). The pattern is searched in a casefolded question that is in the first or
second person. The words are those of the general language, English and Chinese, which tell of the relation more often
than of anything else: states of it, and what ends one and begins another. They are found by their stems.
"""

from __future__ import annotations

from typing import Final

RELATIONS: Final[tuple[tuple[str, str, str], ...]] = (
    (
        "job",
        r"\bwork as\b|\bfor (?:a living|work)\b|\b(?:my|our|a) (?:job|work)\b|\boccupation\b|\bprofession\b|\bcareer\b"
        r"|\bwhat do (?:i|we|you) do\W*$|\bwhere do (?:i|we) work\b|\bdo i work\b|\bwork for\b|\bemploye[dr]\b"
        r"|(?:[做干]什么)?工作|职业|職業|[干幹做]什[么麼]的|[干做]哪行|哪一行|上什么班|哪里?上班",
        "job work occupation profession career trade employed employer employee company firm hired fired sacked "
        "redundant quit resigned retired retirement promoted promotion trainee apprentice intern internship freelance "
        "freelancer freelancing startup office position role shift colleague coworker unemployed teacher teach nurse "
        "doctor engineer programmer developer designer lawyer solicitor judge accountant bookkeeper chef cook waiter "
        "waitress barista baker butcher farmer gardener carpenter joiner plumber electrician mechanic driver pilot "
        "steward stewardess conductor postman courier librarian journalist reporter editor writer author translator "
        "interpreter photographer musician actor actress painter sculptor architect surveyor scientist researcher "
        "professor lecturer tutor secretary receptionist assistant clerk manager director supervisor consultant "
        "analyst salesman saleswoman salesperson cashier shopkeeper banker broker policeman policewoman officer "
        "detective firefighter soldier sailor paramedic surgeon physician dentist pharmacist therapist psychologist "
        "psychiatrist physiotherapist midwife carer vet veterinarian optician hairdresser barber tailor seamstress "
        "cleaner janitor caretaker guard bricklayer builder roofer welder machinist miner fisherman forester ranger "
        "biologist chemist physicist mathematician statistician economist politician diplomat priest coach trainer "
        "referee curator technician administrator recruiter "
        "工作 职业 行业 上班 公司 单位 同事 老板 入职 辞职 离职 跳槽 转行 失业 裁员 退休 升职 创业 开店 兼职 实习 打工 "
        "自由职业 编辑 记者 老师 教师 教书 教授 讲师 医生 大夫 护士 律师 法官 会计 出纳 工程师 程序员 设计师 司机 厨师 "
        "服务员 销售 经理 店长 主管 总监 秘书 助理 文员 前台 翻译 导游 演员 歌手 画家 作家 编剧 摄影师 警察 军人 消防员 "
        "农民 工人 保安 保姆 保洁 快递员 骑手 外卖员 理发师 裁缝 木匠 电工 焊工 教练 研究员 科研 公务员 银行 药剂师 牙医 "
        "兽医 飞行员 空姐 主播 店员 收银员 客服 运营 产品经理",
    ),
    (
        "children",
        r"\b(?:kids?|child|children|sons?|daughters?|bab(?:y|ies))\b|孩子|小孩|儿女|子女|几个娃|儿子|女儿",
        "child children kid son daughter baby toddler newborn infant twins triplets pregnant pregnancy expecting born "
        "birth adopted adoption boy girl stepson stepdaughter firstborn nursery kindergarten midwife due "
        "孩子 小孩 娃 儿子 女儿 宝宝 宝贝 双胞胎 怀孕 怀上 出生 生了 二胎 三胎 二宝 大宝 老大 老二 婴儿 男孩 女孩 幼儿园 "
        "预产期 当妈 当爸 领养 产假",
    ),
    (
        "studies",
        r"\b(?:study|studying|major|degree)\b|\b(?:my|which|what) (?:course|university|college|subject)\b"
        r"|学什么|读什么|什么专业|哪个专业|什么系|念什么|哪所大学|哪个大学|专业是",
        "study studies studying student major degree course university college bachelor master doctorate phd thesis "
        "dissertation semester term enrolled enrol enroll dropped graduate graduated undergraduate freshman sophomore "
        "faculty department diploma programme program apprenticeship mathematics maths physics chemistry biology "
        "medicine law engineering economics psychology philosophy history literature linguistics sociology "
        "anthropology archaeology architecture nursing pharmacy computing statistics geography geology politics "
        "business accounting marketing finance arts music drama journalism theology education agriculture "
        "专业 大学 学院 读书 攻读 研究生 本科 硕士 博士 大一 大二 大三 大四 毕业 退学 休学 转系 转专业 考研 留学 课程 学位 "
        "论文 系 法学 法律 会计 医学 护理 数学 物理 化学 生物 经济 金融 历史 哲学 中文 英语 计算机 软件 工程 机械 建筑 心理 "
        "美术 音乐 新闻 管理 师范 土木 电子",
    ),
    (
        "age",
        r"\bhow old\b|\b(?:my|our) (?:age|birthday)\b|多大|几岁|多少岁|年龄|年纪|生日",
        "old age aged birthday born turned turning twenty thirty forty fifty sixty seventy eighty ninety teenager teens "
        "twenties thirties forties fifties sixties candles cake "
        "岁 岁数 生日 年纪 年龄 出生 周岁 属 虚岁 成年 奔三 奔四 大寿",
    ),
    (
        "origin",
        r"\bnationality\b|\bcitizen(?:ship)?\b|\bwhere (?:am|are) (?:i|we) from\b|\bwhere do (?:i|we) come from\b"
        r"|\bhometown\b|\bpassport\b|\bwhere was i born\b|哪里人|哪儿人|什么地方人|国籍|哪国人|老家|籍贯|家乡|户口",
        "nationality citizen citizenship passport naturalised naturalized native hometown born raised grew immigrated "
        "emigrated immigrant migrant refugee visa residency sworn country homeland roots american british english "
        "scottish welsh irish canadian australian german austrian swiss french belgian dutch italian spanish portuguese "
        "greek polish czech slovak hungarian romanian bulgarian serbian croatian ukrainian russian swedish norwegian "
        "danish finnish icelandic turkish iranian iraqi syrian lebanese israeli egyptian moroccan tunisian nigerian "
        "ghanaian kenyan ethiopian indian pakistani bangladeshi chinese taiwanese japanese korean vietnamese thai "
        "indonesian filipino malaysian mexican cuban colombian venezuelan peruvian chilean argentinian brazilian "
        "老家 家乡 籍贯 祖籍 户口 户籍 落户 国籍 护照 出生 入籍 移民 绿卡 长大 本地人 外地人 定居",
    ),
    (
        "languages",
        r"\blanguages?\b|\bmother tongue\b|\bdo i speak\b|\bam i fluent\b|外语|语言|母语|会说什么|会讲什么|会不会说",
        "language speak spoken fluent fluently bilingual native tongue accent beginner conversational vocabulary "
        "grammar lessons a1 a2 b1 b2 c1 c2 toefl ielts english french german spanish italian portuguese dutch swedish "
        "norwegian danish finnish polish czech russian ukrainian greek turkish arabic hebrew persian hindi urdu "
        "bengali chinese mandarin cantonese japanese korean vietnamese thai swahili latin esperanto "
        "外语 语言 流利 母语 口语 方言 双语 四级 六级 托福 雅思 英语 英文 法语 德语 日语 韩语 俄语 西语 西班牙语 葡萄牙语 "
        "意大利语 阿拉伯语 泰语 越南语 普通话 粤语 广东话 上海话 闽南话 手语",
    ),
    (
        "religion",
        r"\breligio(?:us|n)\b|\bdo i (?:still )?(?:believe|pray)\b|\b(?:my|our) (?:faith|church)\b|\bgo to church\b"
        r"|信什么|信教|宗教|信仰|信不信",
        "religion religious faith believe believer god church mass pray prayer worship baptised baptized baptism "
        "converted conversion confirmation christian catholic protestant lutheran anglican orthodox evangelical muslim "
        "islam mosque imam ramadan quran jewish judaism synagogue rabbi buddhist buddhism temple meditation hindu "
        "hinduism sikh quaker mormon atheist agnostic secular bible gospel parish priest monastery "
        "信佛 拜佛 佛教 佛 念经 皈依 吃斋 寺庙 基督 基督教 基督徒 天主教 教堂 教会 礼拜 做礼拜 祷告 受洗 洗礼 圣经 上帝 耶稣 "
        "伊斯兰教 穆斯林 清真寺 道教 道观 菩萨 无神论 信仰 信教",
    ),
    (
        "medication",
        r"\bmedic(?:ine|ines|ation|ations)\b|\b(?:pills?|tablets?|drugs?)\b|\bprescri\w+|什么药|吃药|用药|哪种药|药",
        "medicine medication pill tablet drug prescription prescribed prescribe dose dosage milligrams mg capsule "
        "syrup drops ointment cream injection inject inhaler insulin antibiotic antihistamine painkiller "
        "antidepressant sedative ibuprofen paracetamol acetaminophen aspirin naproxen penicillin amoxicillin cortisone "
        "statin metformin thyroxine vitamin supplement iron pharmacy chemist doctor "
        "药 吃药 用药 药片 药膏 服药 换药 停药 开药 处方 剂量 毫克 胶囊 糖浆 打针 输液 胰岛素 降压药 止痛药 布洛芬 "
        "阿司匹林 抗生素 头孢 青霉素 安眠药 维生素 钙片 中药 西药 中成药 医生",
    ),
    (
        "salary",
        r"\b(?:earn|salary|wages?|income|paid|get paid|make a (?:month|year))\b|工资|薪水|月薪|年薪|收入|挣多少|赚多少",
        "salary wage wages pay pays paid payslip paycheck earn earns earning income raise gross net tax bonus "
        "commission hourly monthly annual yearly overtime stipend "
        "工资 薪水 月薪 年薪 时薪 底薪 收入 到手 税后 税前 加薪 涨薪 涨工资 降薪 发工资 奖金 年终奖 提成 挣 赚 薪资 待遇",
    ),
    (
        "rent",
        r"\brent\b|\b(?:my|our) (?:landlord|landlady|lease|mortgage)\b|房租|租金|房贷|房东|租房",
        "rent rental landlord landlady lease tenant tenancy deposit mortgage flat apartment room utilities heating "
        "bills sublet eviction "
        "房租 租金 租房 月租 房东 押金 合租 整租 涨租 续租 续约 退租 房贷 月供 水电 物业",
    ),
    (
        "commute",
        r"\bcommut\w+|\bget to (?:work|the office|school)\b|\bgo to (?:work|the office)\b|通勤|怎么上班|怎么去公司"
        r"|怎么去单位|上班.{0,3}(?:方式|路上)",
        "commute bus train tram subway metro underground tube bike bicycle cycle cycling walk foot drive car lift "
        "carpool ferry scooter moped motorbike taxi station traffic remote remotely "
        "通勤 地铁 公交 公交车 巴士 班车 开车 自驾 骑车 骑 自行车 单车 电动车 电瓶车 摩托车 步行 走路 打车 拼车 顺风车 火车 "
        "高铁 轻轨 轮渡 居家办公 远程办公 堵车",
    ),
    (
        "glasses",
        r"\bglasses\b|\bcontact lenses\b|\beye ?sight\b|\b(?:my|our) (?:eyes|vision)\b|眼镜|视力|近视|眼睛|度数",
        "glasses spectacles lenses contacts eye eyes eyesight vision optician ophthalmologist shortsighted nearsighted "
        "farsighted myopia myopic astigmatism dioptre diopter lasik laser lasered bifocals cataract "
        "眼镜 近视 远视 散光 老花 老花镜 视力 隐形眼镜 度数 配镜 激光 眼睛 眼科 白内障",
    ),
    (
        "hair",
        r"\bhair\w*\b|头发|发型|髮型|头髮|发色",
        "hair haircut hairstyle hairdo hairdresser barber bob fringe bangs ponytail braid braids plait plaits bun pixie "
        "crop cropped bald shaved shave dyed dye blonde blond brunette redhead auburn curly curls straight perm "
        "dreadlocks highlights mohawk chopped shoulder long short "
        "头发 发型 长发 短发 剪 剪了 染 染发 烫 烫发 卷发 直发 刘海 马尾 光头 平头 寸头 辫子 理发 齐肩 齐耳 波浪 假发 秃",
    ),
    (
        "computer",
        r"\b(?:laptop|computer|pc|notebook|desktop)\b|电脑|笔记本|筆記本|電腦",
        "laptop computer pc notebook desktop workstation macbook mac imac apple thinkpad lenovo dell hp asus acer "
        "surface chromebook microsoft windows linux ubuntu debian fedora macos tablet ipad "
        "电脑 笔记本 台式机 台式 一体机 平板 主机 显卡 内存 硬盘 系统 苹果 联想 华为 小米 戴尔 惠普 华硕 宏碁",
    ),
    (
        "hot_drinks",
        r"\bdrink (?:in the morning|for breakfast|at breakfast|at work)\b|\b(?:coffee|tea)\b|早上喝|喝什么|咖啡|喝茶",
        "coffee tea espresso latte cappuccino americano macchiato mocha decaf filter instant brew caffeine teabag "
        "matcha oolong chai chamomile peppermint rooibos earl cocoa juice smoothie "
        "咖啡 拿铁 美式 卡布奇诺 摩卡 浓缩 咖啡因 茶 喝茶 绿茶 红茶 花茶 奶茶 普洱 乌龙 龙井 铁观音 豆浆 牛奶 果汁 可乐 白开水",
    ),
    (
        "illness",
        r"\b(?:diabetes|asthma|cancer|arthritis|illness|disease|ill|sick|healthy|health|diagnosis)\b|\bwrong with me\b"
        r"|什么病|得病|生病|身体怎么样|身体好|健康|病情",
        "ill illness sick sickness disease condition diagnosed diagnosis chronic diabetes diabetic asthma arthritis "
        "cancer tumour tumor migraine epilepsy thyroid ulcer cholesterol sugar hypertension pressure anaemia anemia "
        "depression depressed anxiety burnout insomnia infection flu covid pneumonia bronchitis hepatitis surgery "
        "operation hospital doctor symptom relapse remission recovered cured healed healthy "
        "病 生病 得病 确诊 诊断 检查 复查 体检 糖尿病 高血压 血压 血糖 血脂 哮喘 胃病 胃炎 溃疡 癌 癌症 肿瘤 结石 手术 住院 "
        "出院 医院 康复 痊愈 治好 抑郁症 抑郁 焦虑 贫血 感冒 发烧 肺炎 肝炎 心脏病 关节炎 偏头痛 痛风 甲状腺 失眠",
    ),
    (
        "cooking",
        r"\bcook(?:ing)?\b|做饭|做菜|下厨|厨艺",
        "cook cooking kitchen recipe bake baking oven stove pan meal dinner takeaway takeout delivery microwave frozen "
        "homemade scratch ingredients fry boil roast stew soup pasta dish dishes chef "
        "做饭 做菜 烧菜 烧饭 炒菜 炒 煮 炖 烤 烘焙 下厨 厨房 厨艺 菜谱 外卖 食堂 带饭 家常菜 下馆子 泡面 速冻",
    ),
    (
        "money",
        r"\bdebts?\b|\bowe\b|\b(?:my|our) (?:loans?|savings|mortgage|credit)\b|负债|欠债|欠钱|有债|贷款|欠多少|存款|积蓄",
        "debt debts owe owes owed loan loans mortgage credit overdraft instalment installment repay repaid borrowed "
        "borrow lent savings saved bank interest bankrupt bankruptcy student inheritance "
        "债 欠 欠债 欠款 负债 贷款 借款 借钱 还款 还清 还钱 信用卡 花呗 分期 利息 银行 房贷 车贷 存款 积蓄 攒 破产",
    ),
    (
        "dating",
        r"\b(?:girl|boy)friend\b|\b(?:my|a|our) (?:partner|relationship)\b|\bam i (?:still )?(?:single|dating|seeing)\b"
        r"|女朋友|男朋友|对象|单身|谈恋爱|恋爱",
        "girlfriend boyfriend partner single dating date relationship together broke split dumped crush ex fiance "
        "fiancee engaged love couple tinder met "
        "女朋友 男朋友 女友 男友 对象 恋爱 谈恋爱 单身 脱单 分手 复合 交往 在一起 约会 相亲 表白 暗恋 前任 情侣 恋人 异地恋",
    ),
    (
        "residence",
        r"\bdo (?:i|we|you) (?:still )?live\b|\b(?:i|we) living\b|\b(?:my|our) (?:address|home|house|flat|apartment)\b"
        r"|\baddress\b|\breside\b|住(?:在)?(?:哪|什么)|住址|地址|家在哪|哪里住|搬(?:到|去)哪",
        "live lives living reside resident address home house flat apartment studio cottage bungalow condo dorm "
        "houseboat farmhouse townhouse villa room move moved moving relocated relocate settled rent rented bought keys "
        "boxes unpacked housewarming street road avenue lane square district suburb village downtown neighbourhood "
        "neighborhood floor roommate flatmate landlord "
        "住 住在 搬 搬家 搬到 搬去 搬进 新家 新房 买房 租房 租 房子 公寓 小区 楼 楼层 宿舍 别墅 平房 街道 胡同 路口 地址 定居 入住 "
        "乔迁 合租 房东 装修",
    ),
    (
        "diet",
        r"\bdiet\b|\b(?:vegetarian|vegan)\b|\beat (?:meat|fish|pork|beef|dairy|eggs|gluten|sugar)\b|\bwhat do i eat\b"
        r"|\b(?:can|do|may) i eat\b|吃肉|吃素|吃荤|忌口|吃什么|不吃什么|饮食",
        "diet vegetarian vegan pescatarian omnivore carnivore meat beef pork lamb chicken poultry turkey duck bacon ham "
        "sausage steak burger mince fish seafood salmon tuna shrimp egg eggs cheese dairy milk butter tofu tempeh "
        "seitan lentils beans plant animal gluten wheat bread carbs sugar keto paleo fasting halal kosher lactose "
        "吃素 素食 素 荤 吃荤 肉 吃肉 牛肉 羊肉 猪肉 鸡肉 鸭肉 羊排 牛排 排骨 烤肉 火锅 鱼 海鲜 虾 鸡蛋 牛奶 奶酪 豆腐 豆制品 "
        "忌口 戒糖 无糖 低碳 生酮 减脂 轻食 斋 清真 辣 粗粮 主食 麸质 乳糖",
    ),
    (
        "marriage",
        r"\bmarried\b|\b(?:my|our) (?:wife|husband|spouse|marriage|wedding)\b|\bmarital\b|\bdivorced\b|\bam i engaged\b"
        r"|结婚|已婚|离婚|婚姻|老公|老婆|妻子|丈夫",
        "married marry marriage wed wedding wife husband spouse bride groom engaged engagement fiance fiancee proposed "
        "proposal ring knot vows honeymoon anniversary divorce divorced separated separation widow widower widowed "
        "custody lawyer single "
        "结婚 已婚 未婚 婚 婚礼 婚姻 领证 登记 求婚 订婚 新婚 蜜月 老公 老婆 妻子 丈夫 爱人 媳妇 离婚 离了 分居 再婚 复婚 丧偶 守寡 单身",
    ),
    (
        "car",
        r"\bcars?\b|\bvehicle\b|\bdo i drive\b|什么车|开车|车子|我的车|哪辆车|汽车",
        "car cars drive drives drove driving vehicle van truck pickup estate hatchback saloon sedan suv convertible "
        "coupe hybrid electric diesel petrol licence license garage dealer dealership leased mileage scrapyard scrapped "
        "toyota honda nissan mazda subaru mitsubishi suzuki lexus hyundai kia volkswagen vw audi bmw mercedes porsche "
        "opel ford chevrolet tesla jeep dodge volvo saab skoda seat fiat alfa renault peugeot citroen dacia mini rover "
        "jaguar "
        "车 开车 买车 卖车 换车 新车 二手车 提车 汽车 轿车 越野车 电动车 油车 驾照 报废 大众 丰田 本田 日产 马自达 现代 起亚 "
        "奥迪 宝马 奔驰 福特 别克 特斯拉 比亚迪 吉利 长城 奇瑞 理想 蔚来 小鹏 沃尔沃",
    ),
    (
        "pets",
        r"\bpets?\b|\b(?:my|a|our) (?:dog|cat|animal)\b|宠物|养(?:了)?(?:什么|猫|狗)|猫|狗",
        "pet dog puppy beagle poodle labrador retriever terrier shepherd spaniel dachshund collie husky bulldog pug "
        "mutt cat kitten tabby siamese persian rabbit bunny hamster gerbil guinea rat mouse ferret parrot budgie "
        "canary cockatiel goldfish aquarium tortoise turtle snake lizard gecko horse pony vet shelter leash litter "
        "adopted "
        "宠物 狗 小狗 狗狗 柯基 泰迪 金毛 拉布拉多 哈士奇 柴犬 边牧 比熊 猫 小猫 猫咪 橘猫 布偶 英短 美短 狸花 兔子 仓鼠 "
        "鹦鹉 金鱼 乌龟 养 养了 领养 宠物店 兽医",
    ),
    (
        "alcohol",
        r"\bdo i (?:still )?drink\W*$|\b(?:alcohol|beer|wine|booze|sober|teetotal)\b|喝酒|饮酒|酒量|戒酒",
        "drink drinks drinking drank alcohol alcoholic beer lager ale cider wine red white rose champagne prosecco "
        "whisky whiskey vodka gin rum brandy cocktail cocktails pint glass pub bar tipsy drunk hangover sober sobriety "
        "teetotal teetotaller dry drop aa "
        "酒 喝酒 饮酒 戒酒 白酒 啤酒 红酒 黄酒 葡萄酒 洋酒 威士忌 小酌 干杯 醉 喝醉 宿醉 滴酒不沾 应酬 酒局",
    ),
    (
        "smoking",
        r"\bsmok(?:e|er|ing)\b|\bcigarettes?\b|抽烟|吸烟|戒烟|烟",
        "smoke smokes smoked smoker smoking cigarette cigarettes cigar tobacco nicotine patch vape vaping pack packs "
        "lighter ashtray puff quit kicked "
        "抽烟 吸烟 烟 香烟 烟民 烟瘾 戒烟 戒了 一包 一根 电子烟 尼古丁",
    ),
    (
        "exercise",
        r"\b(?:exercise|sports?|workout|work out|keep fit|gym|training)\b|\bdo i (?:run|jog|swim|cycle|train)\b"
        r"|运动|锻炼|健身",
        "exercise sport train training workout gym fitness weights lift lifting deadlift run runs running runner jog "
        "jogging marathon swim swims swimming pool lengths laps cycle cycling bike row rowing climb climbing bouldering "
        "hike hiking yoga pilates dance dancing boxing karate judo aikido fencing tennis badminton squash football "
        "soccer basketball volleyball handball hockey golf ski skiing skating surfing crossfit treadmill coach club "
        "运动 锻炼 健身 健身房 跑步 晨跑 夜跑 马拉松 游泳 骑行 爬山 登山 徒步 攀岩 瑜伽 普拉提 跳舞 跳绳 拳击 太极 太极拳 "
        "羽毛球 乒乓球 网球 篮球 足球 排球 高尔夫 滑雪 滑冰 举铁 撸铁 私教 教练",
    ),
    (
        "contact",
        r"\be-?mail\b|\bphone\b|\b(?:reach|contact|call) me\b|\bmy (?:mobile|cell|number)\b|邮箱|邮件|联系|电话|手机号|号码|微信",
        "email mail mailbox inbox address phone mobile cell number landline telephone reach contact write call text "
        "whatsapp signal telegram skype handle username "
        "邮箱 邮件 邮件地址 信箱 联系 联系方式 电话 手机 手机号 号码 尾号 座机 微信 微信号 换号",
    ),
    (
        "allergies",
        r"\ballerg\w+|\bintoleran\w+|过敏|不耐受",
        "allergy allergies allergic intolerance intolerant reaction anaphylaxis epipen antihistamine hives rash itch "
        "itchy swell swelling swollen sneeze sneezing desensitisation desensitization immunotherapy peanut peanuts nut "
        "nuts almond walnut hazelnut sesame soy shellfish shrimp crab egg milk lactose gluten pollen hay dust mites "
        "mould mold cat dog penicillin latex bee wasp "
        "过敏 过敏原 不耐受 起疹子 疹子 皮疹 荨麻疹 红肿 发痒 痒 打喷嚏 喷嚏 鼻炎 脱敏 花粉 尘螨 花生 坚果 海鲜 虾 蟹 芒果 牛奶 "
        "鸡蛋 猫毛 青霉素 柳絮",
    ),
    (
        "instrument",
        r"\binstruments?\b|\bdo i play (?:music|the)\b|乐器|弹什么|会弹|学琴",
        "instrument piano keyboard organ accordion harpsichord violin viola cello bass double guitar ukulele banjo "
        "mandolin lute harp flute recorder clarinet oboe bassoon saxophone trumpet trombone horn tuba cornet harmonica "
        "bagpipes drums drum percussion xylophone marimba strings bow practise practice band orchestra lesson scales "
        "乐器 钢琴 电子琴 风琴 手风琴 小提琴 中提琴 大提琴 吉他 尤克里里 贝斯 竖琴 长笛 笛子 箫 单簧管 萨克斯 小号 口琴 架子鼓 鼓 "
        "古筝 古琴 琵琶 二胡 扬琴 葫芦丝 练琴 弹琴 琴",
    ),
    (
        "sleep",
        r"\bsleep\b|\b(?:go to bed|get up|wake up|bedtime)\b|睡|起床|作息",
        "sleep sleeps slept sleeping asleep bed bedtime awake wake woke nap naps naps insomnia night nights snooze alarm "
        "early late hours tired melatonin "
        "睡 睡觉 睡眠 入睡 躺下 躺 熬夜 早睡 晚睡 失眠 起床 早起 醒 午睡 午觉 闹钟 作息 上床 褪黑素 补觉",
    ),
    (
        "weight",
        r"\bweigh\b|\bmy weight\b|\bhow heavy\b|体重|多重|多少斤|多少公斤|几斤",
        "weigh weighs weight kilo kilos kg kilograms pounds lbs stone scale scales slim slimmer diet lost gained fat bmi "
        "体重 公斤 斤 千克 减肥 瘦 瘦了 胖 胖了 减重 增肥 增重 减脂 长胖 称",
    ),
    (
        "siblings",
        r"\b(?:brothers?|sisters?|siblings?)\b|兄弟|姐妹|姊妹|弟弟|妹妹|哥哥|姐姐|独生",
        "brother brothers sister sisters sibling siblings twin stepbrother stepsister stepsibling half eldest youngest "
        "younger older only "
        "兄弟 姐妹 姊妹 弟弟 妹妹 哥哥 姐姐 哥 姐 弟 妹 独生 独生女 独生子 双胞胎 龙凤胎 排行 老大 老二 老幺",
    ),
    (
        "parents",
        r"\b(?:parents?|mother|father|mum|mom|dad|folks)\b|父母|爸妈|爸爸|妈妈|父亲|母亲",
        "parent parents mother father mum mom mama dad daddy papa folks stepmother stepfather widowed retired died "
        "passed funeral "
        "父母 爸妈 爸爸 妈妈 爸 妈 父亲 母亲 老爸 老妈 爹 娘 双亲 去世 过世 走了 退休 养老",
    ),
    (
        "reading",
        r"\bam i reading\b|\bdo i read\b|\b(?:book|novel)\b|什么书|看书|读书|哪本书|在读|在看",
        "read reads reading reader book books novel novels thriller memoir biography fiction nonfiction fantasy mystery "
        "crime poetry poems classic chapter pages author paperback hardback kindle ebook audiobook library volume "
        "halfway "
        "书 看书 读书 本书 在看 在读 看完 读完 小说 传记 散文 诗集 推理 科幻 武侠 名著 作者 章 页 电子书 听书 书店 图书馆",
    ),
    (
        "insurance",
        r"\binsur\w+|\bpolicy\b|保险|投保|医保|社保|车险",
        "insurance insurer insured insure policy premium cover covered coverage deductible claim mutual underwriter "
        "allianz axa aviva zurich generali "
        "保险 保单 投保 保费 参保 续保 退保 理赔 医保 社保 车险 寿险 重疾险 意外险 到期 平安 人寿 太平洋 人保 太保 泰康",
    ),
    (
        "travel",
        r"\b(?:holidays?|vacation|trip|travel|travell?ing|honeymoon)\b|旅游|旅行|度假|假期|去哪里?玩|出游|蜜月",
        "holiday holidays vacation trip travel travelling journey booked book booking flight flights fly tickets ticket "
        "hotel hostel airbnb camping campsite cruise ferry itinerary visa beach island islands mountains august july "
        "cancelled weekend getaway abroad "
        "旅游 旅行 度假 假期 出游 自驾游 机票 订票 订了 酒店 民宿 攻略 签证 行程 退票 改签 海边 海岛 国庆 五一 春节 暑假 寒假 蜜月 玩",
    ),
    (
        "clothes",
        r"\b(?:shoe|clothes|clothing|dress|shirt|trouser|my) size\b|\bwhat size\b|尺码|鞋码|多大码|穿多大|穿几码|几码",
        "size sizes shoe shoes boot boots sneakers trainers sandals shirt blouse trousers jeans dress skirt jacket coat "
        "suit small medium large xs xl xxl waist inseam fits fit tight loose wear wears feet foot "
        "尺码 鞋码 码 穿 鞋 鞋子 衣服 衬衫 裤子 裙子 外套 腰围 合身 紧 大码 小码 中码 均码",
    ),
    (
        "games",
        r"\b(?:games?|hobby|hobbies|pastime|weekends?|spare time|free time|club)\b|爱好|业余|周末|空闲|闲暇|兴趣",
        "hobby hobbies pastime weekend weekends game games chess go poker bridge backgammon board cards dice puzzle "
        "console playstation xbox nintendo minecraft dungeons club team side league goalkeeper striker midfielder "
        "captain coach knitting crochet sewing pottery painting drawing photography gardening fishing birdwatching "
        "woodworking model choir singing theatre "
        "爱好 兴趣 业余 周末 游戏 下棋 围棋 象棋 五子棋 麻将 打牌 扑克 桥牌 桌游 剧本杀 手游 电竞 钓鱼 摄影 画画 书法 织毛衣 "
        "手工 陶艺 烘焙 园艺 养花 集邮 唱歌 合唱 乐队 追剧",
    ),
    (
        "team",
        r"\b(?:boss|manager|supervisor|team lead|line manager)\b|\bi report to\b|\bmy (?:team|colleagues|department)\b"
        r"|领导|老板|上司|组长|主管|经理",
        "boss manager supervisor lead leader leads head heads director chief report reports team department division "
        "group colleague deputy successor replaced replaces promoted took handed "
        "领导 老板 上司 组长 主管 经理 总监 主任 科长 处长 部长 队长 团队 部门 小组 同事 接任 接替 接了 接手 调走 上任 空降 汇报",
    ),
)
